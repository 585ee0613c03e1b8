import { LockRequestError, type LockFailure } from '@tenure/core'
import pg from 'pg'
import { cancelStatement, destroy } from './cancellation.ts'

/**
 * How long a statement may wait for a lock that another transaction holds, where the server cannot be reached to cancel it. No
 * transaction of this example takes more than milliseconds.
 */
const LOCK_TIMEOUT_MS = 1000

/** One connection to PostgreSQL, opened when it is needed, and opened again after it broke. Queries follow one another. */
export class Connection {
  readonly #config: pg.ClientConfig
  #client: pg.Client | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(config: pg.ClientConfig) {
    this.#config = config
  }

  /**
   * Sends a query. When `signal` aborts before the answer has come, the server is asked to cancel it, and the connection is closed.
   * The promise settles when the server has confirmed that nothing of the query is left, or does not answer.
   */
  query<Row extends object>(text: string, values: readonly unknown[], signal: AbortSignal): Promise<Row[]> {
    const result = this.#queue.then(() => this.#query<Row>(text, values, signal))
    this.#queue = result.catch(() => {})
    return result
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#queue
    await this.#client?.end()
    this.#client = undefined
  }

  async #query<Row extends object>(text: string, values: readonly unknown[], signal: AbortSignal): Promise<Row[]> {
    const client = await this.#connected(signal)
    const answer = client.query<Row>(text, [...values])
    let cancelled: Promise<void> | undefined
    const onAbort = () => {
      // The cancellation could hit a later query on this connection.
      this.#forget(client)
      cancelled = cancelStatement(this.#config, client, answer)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return (await answer).rows
    } catch (error) {
      throw failed(error)
    } finally {
      signal.removeEventListener('abort', onAbort)
      await cancelled
    }
  }

  async #connected(signal: AbortSignal): Promise<pg.Client> {
    this.#assertUsable(signal)
    if (this.#client !== undefined) return this.#client
    const client = new pg.Client({ lock_timeout: LOCK_TIMEOUT_MS, ...this.#config })
    client.on('error', () => this.#forget(client))
    client.on('end', () => this.#forget(client))
    const onAbort = () => this.#break(client)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await client.connect()
    } catch (error) {
      throw unreachable(error)
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
    this.#assertUsable(signal)
    this.#client = client
    return client
  }

  #assertUsable(signal: AbortSignal): void {
    if (!this.#isClosed && !signal.aborted) return
    throw unreachable(this.#isClosed ? 'the lock is closed' : 'the request was aborted')
  }

  #break(client: pg.Client): void {
    this.#forget(client)
    destroy(client)
  }

  #forget(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined
  }
}

/** The failure for a SQLSTATE or its class. An error that the server reports means that it rolled the statement back. */
const FAILURES: Readonly<Record<string, LockFailure>> = {
  '28': 'unauthenticated',
  '42501': 'forbidden',
  '42P01': 'not-found',
  '53': 'throttled',
  '55P03': 'throttled',
  '57014': 'throttled',
  '57P03': 'unreachable',
}

function failed(error: unknown): LockRequestError {
  const state = error instanceof pg.DatabaseError ? error.code : undefined
  // The connection broke, or the server was shut down: the commit may have come before.
  if (state === undefined || state.startsWith('57P')) {
    return new LockRequestError('unknown-outcome', `PostgreSQL did not answer: ${String(error)}`, { cause: error })
  }
  const failure = FAILURES[state] ?? FAILURES[state.slice(0, 2)] ?? 'rejected'
  return new LockRequestError(failure, `PostgreSQL refused (${state}): ${String(error)}`, { cause: error })
}

function unreachable(cause: unknown): LockRequestError {
  const failure = cause instanceof pg.DatabaseError && cause.code?.startsWith('28') ? 'unauthenticated' : 'unreachable'
  return new LockRequestError(failure, `Could not connect to PostgreSQL: ${String(cause)}`, { cause })
}
