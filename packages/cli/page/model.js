/** What the page knows. Messages of the server change it.
 * @typedef {import('./layout.js').Lease} Lease
 * @typedef {{ name: string, state: string, isCutOff: boolean }} Replica
 */
export class Model {
  /** @type {Map<string, Lease>} */
  leases = new Map()
  /** @type {Replica[]} */
  replicas = []
  title = ''
  problem = ''
  allowsActions = false
  /** How far the clock of the server is ahead of ours. */
  aheadMs = 0
  /** @type {string | undefined} */
  server
  /** Whether the server was restarted while this page was open. */
  wasRestarted = false

  /** The time on the clock of the server. */
  now() {
    return Date.now() + this.aheadMs
  }

  /**
   * The present state, at the first and any later connection.
   * @param {any} message
   */
  takeSnapshot(message) {
    this.takeTime(message)
    this.wasRestarted = this.server !== undefined && this.server !== message.server
    this.server = message.server
    this.title = message.title
    this.problem = message.problem
    this.allowsActions = message.allowsActions
    this.replicas = message.replicas
    this.leases = new Map(message.leases.map((/** @type {Lease} */ lease) => [lease.key, lease]))
  }

  /**
   * Returns the keys of leases that changed otherwise than by a renewal.
   * @param {any} message
   * @returns {string[]}
   */
  takeNews(message) {
    this.takeTime(message)
    for (const lease of message.leases)
      this.leases.set(lease.key, { ...lease, bands: withLatest(this.leases.get(lease.key)?.bands ?? [], lease.bands) })
    for (const { key, renewedAt } of message.renewals) {
      const lease = this.leases.get(key)
      if (lease !== undefined) lease.renewedAt = renewedAt
    }
    return message.leases.map((/** @type {Lease} */ lease) => lease.key)
  }

  /** @param {any} message */
  takeTime({ now }) {
    this.aheadMs = now - Date.now()
  }
}

/**
 * The bands with the latest ones, which replace those that began at the same time.
 * @param {import('./layout.js').Band[]} bands
 * @param {import('./layout.js').Band[]} latest
 */
export function withLatest(bands, latest) {
  const [first] = latest
  return first === undefined ? bands : [...bands.filter(({ from }) => from < first.from), ...latest]
}
