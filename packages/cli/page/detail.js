import { clockText, durationText, isWedged } from './layout.js'
import { ask } from './server.js'

/** How often the explanation is asked for. */
const EXPLAIN_MS = 3000

/** How many terms the table shows. */
const MOST_TERMS = 50

/** What is known of one lease, and the buttons that move its leader. */
export class LeaseDetail {
  /** @type {import('./layout.js').Lease | undefined} */
  #lease
  #allowsActions = false
  #isBusy = false
  /** @param {(id: string) => any} find */
  constructor(find) {
    this.find = find
    find('step-down').addEventListener('click', () => this.#act('step-down'))
    find('transfer').addEventListener('click', () => this.#act('transfer'))
    setInterval(() => {
      if (!document.hidden) void this.#explain()
    }, EXPLAIN_MS)
  }

  /**
   * @param {import('./layout.js').Lease | undefined} lease
   * @param {boolean} allowsActions
   */
  show(lease, allowsActions) {
    const isOther = lease?.key !== this.#lease?.key
    this.#lease = lease
    this.#allowsActions = allowsActions
    this.find('detail').hidden = lease === undefined
    this.find('terms').lease = lease
    if (lease === undefined) return
    this.find('detail-heading').textContent = lease.key
    this.find('detail-state').textContent = stateOf(lease)
    this.find('terms')
      .querySelector('canvas')
      .setAttribute('aria-label', `${lease.bands.length} terms. ${stateOf(lease)}`)
    this.#showButtons(lease)
    this.find('history').replaceChildren(...rowsOf(lease))
    if (!isOther) return
    this.find('outcome').textContent = ''
    this.find('explanation').replaceChildren()
    void this.#explain()
  }

  /** @param {import('./layout.js').Lease} lease */
  #showButtons(lease) {
    this.find('actions').hidden = !this.#allowsActions
    const mayAct = this.#allowsActions && !this.#isBusy && lease.holder !== ''
    const select = this.find('successor')
    const names = [...select.options].map((/** @type {HTMLOptionElement} */ option) => option.value)
    if (names.join('\n') !== lease.standbys.join('\n'))
      select.replaceChildren(...lease.standbys.map((standby) => new Option(standby, standby)))
    this.find('step-down').disabled = !mayAct
    select.disabled = lease.standbys.length === 0
    this.find('transfer').disabled = !mayAct || lease.standbys.length === 0
  }

  async #explain() {
    const lease = this.#lease
    if (lease === undefined) return
    const { sentences, text = '' } = await ask(`explain?lease=${encodeURIComponent(lease.key)}`)
    if (lease.key !== this.#lease?.key) return
    const lines = sentences ?? [text]
    const list = this.find('explanation')
    const shown = [...list.children].map((item) => item.textContent)
    if (shown.join('\n') === lines.join('\n')) return
    list.replaceChildren(...lines.map((line) => withText('li', line)))
  }

  /** @param {'step-down' | 'transfer'} action */
  async #act(action) {
    const lease = this.#lease
    if (lease === undefined) return
    const outcome = this.find('outcome')
    outcome.className = ''
    outcome.textContent = `Asked ${lease.holder} to hand over.`
    this.#isBusy = true
    this.#showButtons(lease)
    const to = action === 'transfer' ? { to: this.find('successor').value } : {}
    const { isDone = false, text = '' } = await ask('actions', { action, lease: lease.key, ...to })
    this.#isBusy = false
    if (this.#lease !== undefined) this.#showButtons(this.#lease)
    outcome.className = isDone ? '' : 'problem'
    outcome.textContent = text
  }
}

/** @param {import('./layout.js').Lease} lease */
function stateOf({ holder, standbys, isEnding, note }) {
  const held = holder === '' ? 'Nobody leads.' : `${holder} leads${isEnding ? ', and its term is ending' : ''}.`
  const next = standbys.length === 0 ? 'No standby is listed.' : `Standbys: ${standbys.join(', ')}.`
  return `${held} ${next} Last: ${note}.`
}

/** @param {import('./layout.js').Lease} lease */
function rowsOf({ bands }) {
  const rows = bands.map((band, index) => {
    const before = bands[index - 1]
    const gap =
      before?.to === undefined ? '' : before.end === 'transferred' ? 'none' : durationText(band.from - before.to)
    const cells = [
      band.epoch ?? '?',
      band.holder,
      `${band.isFromSeen ? '' : 'before '}${clockText(band.from, 1)}`,
      band.to === undefined ? 'until now' : durationText(band.to - band.from),
      gap,
      drainText(band),
      band.end ?? '',
    ]
    const row = document.createElement('tr')
    row.append(...cells.map((text) => withText('td', text)))
    return row
  })
  return rows.slice(-MOST_TERMS).toReversed()
}

/** @param {import('./layout.js').Band} band */
function drainText(band) {
  if (band.drainFrom === undefined || band.to === undefined) return ''
  return `${durationText(band.to - band.drainFrom)}${isWedged(band) ? ', wedged' : ''}`
}

/**
 * @param {string} tag
 * @param {string} text
 */
export function withText(tag, text) {
  const element = document.createElement(tag)
  element.textContent = text
  return element
}
