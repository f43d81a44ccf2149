/** The page: takes files or an address, runs the verifier in a worker, and shows the report as text. */
import { hasCrypto } from './modules/digests.js'
import { lineBeside, versionsIn } from './modules/browser-source.js'
import { numbersText, parametersText, promiseName } from './modules/words.js'
import { readKeyList } from './modules/key-list.js'

/** @template {HTMLElement} T @param {string} id @returns {T} */
const byId = id => /** @type {T} */(document.getElementById(id))

/**
 * An element with text; never with markup.
 * @param {string} tag
 * @param {string} text
 * @param {string} [kind]
 */
function element(tag, text, kind) {
  const e = document.createElement(tag)
  e.textContent = text
  if (kind) e.className = kind
  return e
}

/** @param {string} title @param {string[]} lines */
function listOf(title, lines) {
  if (!lines.length) return []
  const ul = document.createElement('ul')
  for (const line of lines) ul.append(element('li', line))
  return [element('h3', title), ul]
}

/** @param {import('./modules/release.js').Report} report */
function show(report) {
  const verdict = byId('verdict'), out = byId('report')
  verdict.textContent = { valid: 'Valid', refused: 'Refused', 'not judged': 'Not judged' }[report.verdict]
  verdict.className = { valid: 'valid', refused: 'refused', 'not judged': 'unjudged' }[report.verdict]
  out.replaceChildren()
  if (report.title) out.append(element('p', `Title, as the publisher wrote it: ${report.title}`))
  if (report.digest) out.append(element('p', `Digest: ${report.digest}`, 'digest'))
  out.append(...listOf('Reasons', report.reasons.map(r => `${r.reason} (rule ${r.rule})${r.where ? `, ${r.where}` : ''}${r.detail ? `: ${r.detail}` : ''}`)))
  if (report.verdict === 'valid') {
    out.append(element('p', `${report.files} files and ${report.rows} rows were read. The files are whole, they agree with each other, and every measured promise is kept. This does not say that rows are those of a source, that roles are right, or that nobody received more.`))
    if (report.signature) out.append(element('p', report.signature))
    out.append(element('h3', 'Promises, computed again'))
    for (const p of report.promises) {
      const box = element('div', '', 'promise')
      box.append(element('h4', promiseName(p.promise)), element('p', `Promised: ${parametersText(p.promise)}`),
        element('p', `${p.stated ? 'Stated by the publisher, not measured' : 'Measured'} over ${p.groups} groups: ${numbersText(p.observed)}`),
        element('p', `By: ${p.promise['quasi-identifiers'].join(', ')}`))
      out.append(box)
    }
  }
  out.append(...listOf('Not checked', report.skipped), ...listOf('Notes', report.notes))
  out.append(element('p', 'This verdict is only as good as your copy of this page. If it came from the publisher of the release, run your own copy: see below.'))
}

/** @type {{path: string, file: File}[]} */
let files = []
let chosen = ''
/** @type {Worker | undefined} */
let worker

function onChoice() {
  const input = /** @type {HTMLInputElement} */(byId('directory'))
  files = Array.from(input.files ?? [], file => {
    const [first, ...rest] = (file.webkitRelativePath || file.name).split('/')
    chosen = first
    return { path: rest.join('/') || first, file }
  })
  const versions = versionsIn(files), select = /** @type {HTMLSelectElement} */(byId('version'))
  select.replaceChildren(...versions.map(v => { const o = element('option', v || 'the directory itself'); /** @type {HTMLOptionElement} */(o).value = v; return o }))
  if (versions.length) select.value = versions[versions.length - 1]
  byId('version-choice').hidden = versions.length < 2
  if (files.length) setAddress('')
}

/** Names what will be checked; a version of the line is an address, too. @param {string} address */
function setAddress(address) {
  /** @type {HTMLInputElement} */(byId('address')).value = address
  const select = /** @type {HTMLSelectElement} */(byId('line-version'))
  select.value = address
  if (select.selectedIndex < 0) select.value = ''
}

/** @param {string} number */
const addressOf = number => `../${number}/`

/** Offers the versions of the line that this page lies beside. */
async function offerLine() {
  const line = await lineBeside(document.baseURI)
  if (!line) return
  const select = byId('line-version')
  for (const { number, status } of line.versions) {
    const option = /** @type {HTMLOptionElement} */(element('option', status === 'published' ? number : `${number} (${status})`))
    option.value = addressOf(number)
    select.append(option)
  }
  byId('line-name').textContent = line.name
  byId('line').hidden = false
  setAddress(/** @type {HTMLInputElement} */(byId('address')).value)
}

/** @param {string} headline @param {string} text */
function say(headline, text) {
  byId('result').hidden = false
  byId('verdict').className = 'unjudged'
  byId('verdict').textContent = headline
  byId('report').replaceChildren(element('p', text))
  byId('progress').textContent = ''
  byId('verdict').focus()
}

/** @param {Event} event */
function onCheck(event) {
  event.preventDefault()
  const address = /** @type {HTMLInputElement} */(byId('address')).value.trim()
  const digest = /** @type {HTMLInputElement} */(byId('digest')).value.trim().toLowerCase(), keyText = /** @type {HTMLTextAreaElement} */(byId('keys')).value
  if (!address && !files.length) return say('Nothing to check', 'Choose a directory, or type an address.')
  if (digest && !/^[0-9a-f]{64}$/.test(digest)) return say('Nothing was checked', 'The announced digest has not 64 hexadecimal digits.')
  /** @type {string[]} */
  let keys = []
  if (keyText.trim()) {
    try { keys = readKeyList(keyText) } catch { return say('Nothing was checked', 'No public key can be read from what you typed.') }
  }
  /** @type {any} */
  const work = { keys, digest: digest || undefined }
  if (address) {
    try { work.address = new URL(address, document.baseURI).href } catch { return say('Nothing was checked', 'This is no address.') }
  } else {
    const versions = versionsIn(files)
    Object.assign(work, { files, chosen, folder: versions.length > 1 ? /** @type {HTMLSelectElement} */(byId('version')).value : versions[0] ?? '' })
  }
  byId('result').hidden = false
  byId('verdict').className = ''
  byId('verdict').textContent = 'Checking'
  byId('report').replaceChildren()
  byId('result').setAttribute('aria-busy', 'true')
  worker?.terminate()
  worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' })
  const done = () => { byId('result').removeAttribute('aria-busy'); byId('progress').textContent = ''; worker?.terminate(); byId('verdict').focus() }
  worker.addEventListener('error', () => { say('Not checked', 'The verifier failed. That is a fault of it or of this browser, and no verdict.'); done() })
  worker.addEventListener('message', ({ data }) => {
    if (data.step) byId('progress').textContent = `Now: ${data.step}`
    else if (data.report) { show(data.report); done() } else { say('Not checked', data.fault); done() }
  })
  worker.postMessage(work)
}

if (!hasCrypto()) {
  byId('start-state').textContent = 'This browser gives this page no cryptography (WebCrypto), because the page did not come by https:// or from your own machine. Nothing can be verified here: no hash, no digest, no signature.'
} else {
  byId('start-state').hidden = true
  byId('form').hidden = false
  byId('directory').addEventListener('change', onChoice)
  byId('form').addEventListener('submit', onCheck)
  byId('line-version').addEventListener('change', event => setAddress(/** @type {HTMLSelectElement} */(event.target).value))
  byId('address').addEventListener('input', () => setAddress(/** @type {HTMLInputElement} */(byId('address')).value))
  const asked = new URL(document.location.href).searchParams, version = asked.get('version')
  setAddress(version && /^[0-9]+$/.test(version) ? addressOf(version) : asked.get('release') ?? '')
  offerLine()
}
