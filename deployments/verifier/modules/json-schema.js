/** The part of JSON Schema (draft 2020-12) that the manifest's schema uses, and its `x-` key words (M3.1, M3.2). */
import { compare, exact } from './fractions.js'
import { lengthOf } from './text.js'
import { sameJson } from './canonical-json.js'

/** @type {Map<string, RegExp>} */
const PATTERNS = new Map()

/** @param {string} source */
function pattern(source) {
  let found = PATTERNS.get(source)
  if (!found) PATTERNS.set(source, found = new RegExp(source, 'u'))
  return found
}

const SILENT = new Set(['$schema', '$defs', 'title', 'description', 'x-since-format', 'properties', 'additionalProperties', 'patternProperties'])

/** @param {any} value @param {string} type */
function isOfType(value, type) {
  switch (type) {
    case 'object': return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array': return Array.isArray(value)
    case 'integer': return Number.isInteger(value)
    case 'null': return value === null
    default: return typeof value === type // string, number, boolean
  }
}

const NUMERIC = {
  'x-at-least': (/** @type {number} */ c) => c >= 0, 'x-above': (/** @type {number} */ c) => c > 0,
  'x-at-most': (/** @type {number} */ c) => c <= 0, 'x-below': (/** @type {number} */ c) => c < 0,
}

/**
 * Where a value breaks a schema, or undefined if it does not.
 * @param {any} schema
 * @param {any} value
 * @param {any} root the schema with `$defs`
 * @param {string} [path]
 * @returns {string | undefined}
 */
export function faultOf(schema, value, root, path = '') {
  if (schema === true) return undefined
  if (schema === false) return path || '/'
  const object = isOfType(value, 'object'), list = Array.isArray(value)
  for (const [word, rule] of Object.entries(schema)) {
    /** @type {string | boolean | undefined} */
    let fault = false
    switch (word) {
      case 'type': fault = !isOfType(value, rule); break
      case 'const': fault = !sameJson(value, rule); break
      case 'enum': fault = !rule.some((/** @type {any} */ r) => sameJson(r, value)); break
      case 'pattern': fault = typeof value === 'string' && !pattern(rule).test(value); break
      case 'minLength': fault = typeof value === 'string' && lengthOf(value) < rule; break
      case 'maxLength': fault = typeof value === 'string' && lengthOf(value) > rule; break
      case 'minimum': fault = typeof value === 'number' && value < rule; break
      case 'maximum': fault = typeof value === 'number' && value > rule; break
      case 'exclusiveMinimum': fault = typeof value === 'number' && value <= rule; break
      case 'minItems': fault = list && value.length < rule; break
      case 'maxItems': fault = list && value.length > rule; break
      case 'minProperties': fault = object && Object.keys(value).length < rule; break
      case 'maxProperties': fault = object && Object.keys(value).length > rule; break
      case 'uniqueItems': fault = list && value.some((/** @type {any} */ a, /** @type {number} */ i) => value.slice(0, i).some((/** @type {any} */ b) => sameJson(a, b))); break
      case 'contains': fault = list && !value.some((/** @type {any} */ v) => !faultOf(rule, v, root)); break
      case 'items': if (list) for (let i = 0; i < value.length && !fault; i++) fault = faultOf(rule, value[i], root, `${path}/${i}`); break
      case 'required': if (object) { const lacks = rule.find((/** @type {string} */ k) => !Object.hasOwn(value, k)); if (lacks !== undefined) fault = `${path}/${lacks} is missing` } break
      case 'propertyNames': if (object) for (const k of Object.keys(value)) if (faultOf(rule, k, root)) fault = `${path}, a key`; break
      case 'not': fault = !faultOf(rule, value, root); break
      case 'anyOf': fault = !rule.some((/** @type {any} */ r) => !faultOf(r, value, root)); break
      case 'oneOf': fault = rule.filter((/** @type {any} */ r) => !faultOf(r, value, root)).length !== 1; break
      case '$ref':
        if (rule === '#/$defs/ExactNumber') fault = exact(value) === undefined
        else fault = faultOf(root.$defs[rule.slice('#/$defs/'.length)], value, root, path)
        break
      case 'x-at-least': case 'x-above': case 'x-at-most': case 'x-below': {
        const number = exact(value), bound = exact(rule)
        fault = !number || !bound || !NUMERIC[word](compare(number, bound))
        break
      }
      default: if (!SILENT.has(word)) throw new Error(`a key word of JSON Schema that is not known: ${word}`)
    }
    if (fault) return typeof fault === 'string' ? fault : `${path || '/'} (${word})`
  }
  if (object && (schema.properties || schema.additionalProperties !== undefined || schema.patternProperties)) {
    for (const [key, item] of Object.entries(value)) {
      const below = `${path}/${key}`
      let known = false
      if (schema.properties && Object.hasOwn(schema.properties, key)) {
        known = true
        const fault = faultOf(schema.properties[key], item, root, below)
        if (fault) return fault
      }
      for (const [source, rule] of Object.entries(schema.patternProperties ?? {})) {
        if (!pattern(source).test(key)) continue
        known = true
        const fault = faultOf(rule, item, root, below)
        if (fault) return fault
      }
      if (!known && schema.additionalProperties !== undefined) {
        const fault = faultOf(schema.additionalProperties, item, root, below)
        if (fault) return fault
      }
    }
  }
  return undefined
}
