/**
 * How a rule that does not hold is told: by throwing. Nothing here knows values of tables,
 * and callers must not put values into `detail` (R1.1).
 */

/** A reason to refuse a release. */
export class Refusal extends Error {
  /**
   * @param {string} reason one of the closed list (R1)
   * @param {string} rule number of the rule, such as `M2.2`
   * @param {string} [where] file, table, column or promise
   * @param {string} [detail] what was found, in words
   */
  constructor(reason, rule, where = '', detail = '') {
    super(`${reason} (${rule})${where ? ' ' + where : ''}${detail ? ': ' + detail : ''}`)
    this.reason = reason
    this.rule = rule
    this.where = where
    this.detail = detail
  }
}

/** A release that is not judged: of a newer format, or too large (R2.4). */
export class NotJudged extends Refusal {}

/**
 * @param {string} reason
 * @param {string} rule
 * @param {string} [where]
 * @param {string} [detail]
 * @returns {never}
 */
export function refuse(reason, rule, where, detail) {
  throw new Refusal(reason, rule, where, detail)
}

/**
 * Refuses unless a condition holds.
 * @param {unknown} condition
 * @param {string} reason
 * @param {string} rule
 * @param {string} [where]
 * @param {string} [detail]
 */
export function must(condition, reason, rule, where, detail) {
  if (!condition) throw new Refusal(reason, rule, where, detail)
}

/** The closed list of reasons (R1.2). */
export const REASONS = new Set(('not-a-release file-kind file-missing file-unexpected manifest-not-canonical manifest-schema '
  + 'format-wrong format-newer too-large digest-wrong digest-not-announced resources-wrong hash-differs hierarchy-wrong '
  + 'counts-contradict statement-wrong table-unreadable table-schema table-metadata value-hidden value-not-finite table-empty '
  + 'null-unexpected row-count-wrong count-wrong row-number order-wrong tables-disagree label-unreadable leaves-unpublished '
  + 'value-uncoded weight-not-positive csv-differs promise-scope promise-broken promise-unmeasurable observed-wrong policy-broken parts-wrong '
  + 'validation-wrong hierarchy-differs help-table-differs bytes-differ signature-unreadable signature-wrong signature-missing '
  + 'key-revoked key-not-trusted record-unreadable withdrawn chain-broken '
  + 'log-wrong log-differs log-rolled-back log-forked log-missing unreadable').split(' '))
