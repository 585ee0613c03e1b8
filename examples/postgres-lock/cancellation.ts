import pg from 'pg'

/** How long the server has to confirm that it has cancelled a statement. */
const CONFIRMATION_MS = 500

/**
 * Stops the statement that a connection waits for, and closes the connection. Resolves when `answer` has settled: by then the server
 * has finished the statement, or has not answered for {@link CONFIRMATION_MS}.
 *
 * To close the connection is not enough: a server that waits for the lock of a row notices that only when it has the lock.
 */
export async function cancelStatement(
  config: pg.ClientConfig,
  client: pg.Client,
  answer: Promise<unknown>,
): Promise<void> {
  const timer = setTimeout(() => destroy(client), CONFIRMATION_MS)
  const other = new pg.Client({ ...config, connectionTimeoutMillis: CONFIRMATION_MS, query_timeout: CONFIRMATION_MS })
  other.on('error', () => {})
  const cancelled = cancel(client, other)
  await Promise.allSettled([answer, cancelled])
  clearTimeout(timer)
  destroy(client)
  destroy(other)
}

async function cancel(client: pg.Client, other: pg.Client): Promise<void> {
  await other.connect()
  await other.query('SELECT pg_cancel_backend($1)', [Reflect.get(client, 'processID')])
}

/** Closes a connection without the closing message of the protocol. */
export function destroy(client: pg.Client): void {
  client.on('error', () => {})
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}
