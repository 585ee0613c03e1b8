/** The list of leases: a listbox in the order of the names. */
export class LeaseList {
  /** @type {string | undefined} */
  chosen
  /** @type {Map<string, HTMLElement>} */
  #rows = new Map()
  #list
  #onChoose

  /**
   * @param {HTMLElement} list
   * @param {(key: string) => void} onChoose
   */
  constructor(list, onChoose) {
    this.#list = list
    this.#onChoose = onChoose
    list.addEventListener('keydown', (event) => this.#onKey(event))
    list.addEventListener('click', (event) => {
      const row = event.target instanceof Element ? event.target.closest('[role=option]') : null
      if (row instanceof HTMLElement && row.dataset['key']) this.choose(row.dataset['key'])
    })
  }

  /**
   * Shows all leases. Rows that exist are kept.
   * @param {readonly import('./layout.js').Lease[]} leases
   */
  showAll(leases) {
    const keys = new Set(leases.map(({ key }) => key))
    for (const [key, row] of this.#rows) {
      if (keys.has(key)) continue
      row.remove()
      this.#rows.delete(key)
    }
    const rows = leases.map((lease) => this.#rowOf(lease))
    if (rows.some((row, index) => this.#list.children[index] !== row)) this.#list.replaceChildren(...rows)
    if (this.chosen !== undefined && !keys.has(this.chosen)) this.chosen = undefined
  }

  /** @param {import('./layout.js').Lease} lease */
  show(lease) {
    this.#rowOf(lease)
  }

  /** @param {string} key */
  choose(key) {
    const row = this.#rows.get(key)
    if (row === undefined) return
    this.#rows.get(this.chosen ?? '')?.setAttribute('aria-selected', 'false')
    this.chosen = key
    row.setAttribute('aria-selected', 'true')
    this.#list.setAttribute('aria-activedescendant', row.id)
    row.scrollIntoView({ block: 'nearest' })
    this.#onChoose(key)
  }

  /** @param {import('./layout.js').Lease} lease */
  #rowOf(lease) {
    const known = this.#rows.get(lease.key)
    const row = known ?? rowFor(lease.key)
    this.#rows.set(lease.key, row)
    const holder = /** @type {HTMLElement} */ (row.lastElementChild)
    const text = lease.holder === '' ? 'nobody leads' : lease.isEnding ? `${lease.holder} (ending)` : lease.holder
    if (holder.textContent !== text) holder.textContent = text
    return row
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const keys = [...this.#list.children].map((row) => (row instanceof HTMLElement ? (row.dataset['key'] ?? '') : ''))
    const at = this.chosen === undefined ? -1 : keys.indexOf(this.chosen)
    const page = Math.max(1, Math.floor(this.#list.clientHeight / 26) - 1)
    /** @type {Record<string, number>} */
    const targets = {
      ArrowDown: at + 1,
      ArrowUp: Math.max(at, 1) - 1,
      Home: 0,
      End: keys.length - 1,
      PageDown: at + page,
      PageUp: at - page,
    }
    const target = event.shiftKey ? undefined : targets[event.key]
    if (target === undefined) return
    event.preventDefault()
    const key = keys[Math.min(Math.max(target, 0), keys.length - 1)]
    if (key !== undefined) this.choose(key)
  }
}

let rows = 0

/** @param {string} key */
function rowFor(key) {
  const row = document.createElement('div')
  row.role = 'option'
  row.id = `lease-${(rows += 1)}`
  row.dataset['key'] = key
  row.setAttribute('aria-selected', 'false')
  for (const [className, text] of [
    ['name', key],
    ['holder', ''],
  ]) {
    const part = document.createElement('span')
    part.className = className ?? ''
    part.textContent = text ?? ''
    row.append(part)
  }
  row.title = key
  return row
}
