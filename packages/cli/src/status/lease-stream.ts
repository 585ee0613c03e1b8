import { LEASES, leaseKey, type StoredLease, storedLease } from '../cluster/leases.ts'
import { type Cluster, pathOf } from '../cluster/cluster.ts'
import type { Logger } from '@tenure/core'
import { informer } from '@tenure/kubernetes'
import type { JsonObject } from '@tenure/kubernetes/internal'
import { errorOf, onAbort, silentLogger, textOf } from '@tenure/core/internal'
import { aborted, type Terminal } from '../terminal.ts'

/** What to follow. */
export interface StreamOptions {
  readonly cluster: Cluster
  /** Empty for all namespaces. */
  readonly namespace: string
  /** The only lease to follow; undefined for all. */
  readonly name: string | undefined
  /** Called with every state of a lease: at the start, and after every change. */
  readonly onLease: (lease: StoredLease) => void
  readonly onDeleted: (key: string) => void
  /** Called when the first list is complete. */
  readonly onSynced?: () => void
}

/**
 * Follows leases until the command is interrupted. Says on the standard error when it loses the API server, and when it is back.
 * @throws the first failure if the API server never answered
 */
export async function followLeases(options: StreamOptions, terminal: Terminal): Promise<void> {
  const { cluster, namespace, name, onLease, onDeleted, onSynced } = options
  const ending = new AbortController()
  const connection = new ConnectionNotes(terminal, ending)
  const work: Promise<unknown>[] = []
  const owner = {
    controller: 'command',
    signal: ending.signal,
    logger: connection.logger,
    spawn: async <T>(_name: string, run: (signal: AbortSignal) => T | Promise<T>): Promise<T> => {
      const running = (async () => run(ending.signal))()
      work.push(running.catch((error: unknown) => connection.failed(errorOf(error))))
      return running
    },
  }
  const leases = informer<JsonObject>(owner, {
    kubeConfig: cluster.kubeConfig,
    path: pathOf({ ...LEASES, namespace }),
    ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
    clock: terminal.clock,
    random: terminal.random,
    onProblem: (problem) => connection.lost(problem),
    onChange: ({ kind, object }) => {
      connection.heard()
      const stored = storedLease(object)
      if (stored === undefined) return
      if (kind === 'deleted') onDeleted(leaseKey(stored.namespace, stored.name))
      else onLease(stored)
    },
  })
  leases.synced.then(
    () => connection.synced(onSynced),
    () => {},
  )
  const forget = onAbort(terminal.interrupted, () => ending.abort(terminal.interrupted.reason))
  await aborted(ending.signal)
  forget()
  await Promise.all(work)
  connection.assertReached()
}

/** Notes of the connection to the API server. */
class ConnectionNotes {
  readonly #terminal: Terminal
  readonly #ending: AbortController
  #isReached = false
  #isLost = false
  #failure: Error | undefined

  constructor(terminal: Terminal, ending: AbortController) {
    this.#terminal = terminal
    this.#ending = ending
  }

  /** The informer logs when it works again. */
  get logger(): Logger {
    return { ...silentLogger, info: () => this.heard() }
  }

  /** The command itself failed. Not after its end. */
  failed(error: Error): void {
    if (this.#ending.signal.aborted) return
    this.#failure = error
    this.#ending.abort(error)
  }

  synced(then: (() => void) | undefined): void {
    this.heard()
    then?.()
  }

  heard(): void {
    this.#isReached = true
    if (this.#isLost) this.#terminal.err('The API server answers again.\n')
    this.#isLost = false
  }

  /** A server that never answered ends the command: its address or the credentials are wrong. */
  lost(problem: Error): void {
    if (!this.#isReached) this.failed(problem)
    else if (!this.#isLost) {
      this.#isLost = true
      this.#terminal.err(`Lost the API server and tries again: ${textOf(problem)}\n`)
    }
  }

  assertReached(): void {
    if (this.#failure !== undefined) throw this.#failure
  }
}
