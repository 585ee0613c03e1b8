import type { Candidacy } from '../candidacy/candidacy.ts'
import type { CandidacyEvent } from '../candidacy/events.ts'
import type { FeatureGates } from '../feature-gates.ts'
import type { HealthProbe } from '../health/health-probe.ts'
import type { Term } from '../term/term.ts'

/** The groups of extensions: they start in this order and stop in reverse. */
export const EXTENSION_GROUPS = ['servers', 'caches'] as const

/** The group with which an extension starts and stops. */
export type ExtensionGroup = (typeof EXTENSION_GROUPS)[number]

/** The part of a `Manager` that an {@link Extension} sees. */
export interface ExtensionHost {
  /** The identity of this replica, as in its leases. */
  readonly identity: string
  /** The feature gates, with their settings. */
  readonly featureGates: FeatureGates
  /** All candidacies; the manager's own lease comes first. */
  readonly candidacies: readonly Candidacy[]
  /** What `/livez` serves. It fails only if a restart of the process can help. */
  readonly livez: HealthProbe
  /** What `/readyz` serves. It does not depend on leadership. */
  readonly readyz: HealthProbe
  /** Stops the manager and its extensions. An extension must not await it. */
  stop(): Promise<void>
}

/**
 * A plug-in of a manager: a server, a cache, an observer, or something that every term gets. It needs at least one of the methods.
 *
 * The manager starts extensions before controllers and elections, and stops them afterwards, in reverse.
 *
 * @example
 * ```ts
 * const server = createServer(answer)
 * manager.use({
 *   name: 'web',
 *   start: async () => void (await once(server.listen(8000), 'listening')),
 *   stop: async () => void (await once(server.close(), 'close')),
 * })
 * ```
 */
export interface Extension {
  /** The name of the extension in log lines and errors. */
  readonly name: string
  /** Extensions of one group start in the order of their `use()`. @default 'servers' */
  readonly group?: ExtensionGroup
  /**
   * Starts the extension. The next one starts when the returned promise has resolved. If it rejects, the manager stops, does not
   * call `stop()` of this extension, and `start()` of the manager rejects with the cause.
   */
  start?(host: ExtensionHost): void | Promise<void>
  /** Stops the extension. Resolves when nothing of it is left. The group limits the time: `groups.servers.stopTimeoutMs`. */
  stop?(): void | Promise<void>
  /** Receives every event of every candidacy. If it throws, the manager logs the error and continues. */
  onEvent?(event: CandidacyEvent): void
  /**
   * Called before each run of each controller. The manager calls the returned function after the last task and cleanup of the run.
   * Neither may block.
   */
  onTerm?(term: Term): () => void
}
