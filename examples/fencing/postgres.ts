import type { ClientBase } from 'pg'
import { StaleEpochError } from './stale-epoch-error.ts'

/** Every row that a leader writes knows the last term that wrote it. */
export const TABLE =
  'CREATE TABLE IF NOT EXISTS counters (id text PRIMARY KEY, value bigint NOT NULL, epoch bigint NOT NULL)'

/** At the beginning of a term, before anything is read: from here on, no earlier term can write what this one reads. */
export async function raiseFence(client: ClientBase, epoch: bigint): Promise<void> {
  await client.query('UPDATE counters SET epoch = $1 WHERE epoch < $1', [epoch])
}

/** Every write of the term. @throws StaleEpochError when a later term has begun */
export async function write(client: ClientBase, epoch: bigint, row: { id: string; value: bigint }): Promise<void> {
  const { rowCount } = await client.query('UPDATE counters SET value = $3, epoch = $1 WHERE id = $2 AND epoch <= $1', [
    epoch,
    row.id,
    row.value,
  ])
  if (rowCount === 0) throw new StaleEpochError(epoch)
}

/** A new row, too, must not be made by a term that is over: the fence row of the table decides. */
export async function insert(client: ClientBase, epoch: bigint, row: { id: string; value: bigint }): Promise<void> {
  const { rowCount } = await client.query(
    `INSERT INTO counters (id, value, epoch)
     SELECT $2, $3, $1 FROM counters WHERE id = 'fence' AND epoch <= $1 FOR SHARE`,
    [epoch, row.id, row.value],
  )
  if (rowCount === 0) throw new StaleEpochError(epoch)
}
