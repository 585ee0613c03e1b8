import type { ClientBase } from 'pg'
import { MissingRowError } from './missing-row-error.ts'
import { StaleEpochError } from './stale-epoch-error.ts'

/** Every row that a leader writes knows the last term that wrote it. The row `fence` knows the last term that began. */
export const TABLE =
  'CREATE TABLE IF NOT EXISTS counters (id text PRIMARY KEY, value bigint NOT NULL, epoch bigint NOT NULL)'

/**
 * At the beginning of a term, before anything is read: from here on, no earlier term can write what this one reads. Not within a
 * transaction: the second statement has to see what was inserted before the first one had its lock.
 * @throws StaleEpochError when a later term has begun
 */
export async function raiseFence(client: ClientBase, epoch: bigint): Promise<void> {
  // First, and on its own: it waits for inserts under way, and earlier terms insert nothing from here on.
  const { rowCount } = await client.query(
    `INSERT INTO counters (id, value, epoch) VALUES ('fence', 0, $1)
     ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch WHERE counters.epoch <= excluded.epoch`,
    [epoch],
  )
  if (rowCount === 0) throw new StaleEpochError(epoch)
  await client.query('UPDATE counters SET epoch = $1 WHERE epoch < $1', [epoch])
}

/** Every write of the term. @throws StaleEpochError when a later term has begun @throws MissingRowError when there is no such row */
export async function write(client: ClientBase, epoch: bigint, row: { id: string; value: bigint }): Promise<void> {
  const { rowCount } = await client.query('UPDATE counters SET value = $3, epoch = $1 WHERE id = $2 AND epoch <= $1', [
    epoch,
    row.id,
    row.value,
  ])
  if (rowCount === 0) throw await refusal(client, epoch, row.id)
}

/**
 * An ended term must not insert a row either. The row `fence` decides, and is locked against a term that begins.
 * @throws StaleEpochError when a later term has begun @throws MissingRowError when no term has raised the fence
 */
export async function insert(client: ClientBase, epoch: bigint, row: { id: string; value: bigint }): Promise<void> {
  const { rowCount } = await client.query(
    `INSERT INTO counters (id, value, epoch)
     SELECT $2, $3, $1 FROM counters WHERE id = 'fence' AND epoch <= $1 FOR SHARE`,
    [epoch, row.id, row.value],
  )
  if (rowCount === 0) throw await refusal(client, epoch, 'fence')
}

/** Why a statement changed no row. */
async function refusal(client: ClientBase, epoch: bigint, id: string): Promise<Error> {
  const { rows } = await client.query<{ isLater: boolean }>(
    `SELECT epoch > $1 AS "isLater" FROM counters WHERE id IN ('fence', $2)`,
    [epoch, id],
  )
  return rows.some(({ isLater }) => isLater) ? new StaleEpochError(epoch) : new MissingRowError(id)
}
