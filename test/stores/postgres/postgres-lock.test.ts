import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type LeaseRecord, type Lock, LockRequestError, Manager, type PresentLease, type Term } from '@tenure/core'
import { createSchema, PostgresLock } from '@tenure/example-postgres-lock'
import { silentLogger } from '@tenure/core/internal'
import { lockConformance } from '@tenure/testing/lock-conformance'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { traceExtension } from '../../../packages/tenure/src/trace-extension.ts'
import { assertTraces, traceInto } from '../../traces/assert-traces.ts'
import { type PostgresServer, startPostgres } from '../servers/postgres-server.ts'
import { createTemporaryFolder } from '../servers/temporary-folder.ts'

const options = { signal: new AbortController().signal }

let server: PostgresServer
let serial = 0

beforeAll(async () => {
  server = await startPostgres()
  await createSchema(server.connection)
})

afterAll(() => server.stop())

async function sql(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
  const client = new pg.Client(server.connection)
  await client.connect()
  try {
    return await client.query(text, [...values])
  } finally {
    await client.end()
  }
}

async function createFixture() {
  const name = `lease-${(serial += 1)}`
  const locks: Lock[] = []
  return {
    name,
    openLock: () => {
      const lock = new PostgresLock({ connection: server.connection, name })
      locks.push(lock)
      return lock
    },
    deleteLease: async () => void (await sql('DELETE FROM tenure_leases WHERE name = $1', [name])),
    [Symbol.asyncDispose]: async () => void (await Promise.all(locks.map((lock) => lock.close()))),
  }
}

const record: LeaseRecord = {
  holderIdentity: 'a',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-02T03:04:05.000001Z',
  renewTime: '2026-01-02T03:04:06.000002Z',
  leaseTransitions: 0,
  annotations: {},
}

describe('a lock on PostgreSQL', () => {
  const cases = lockConformance({
    createFixture,
    otherProcess: ({ name }) => ({
      module: new URL('open-postgres-lock.ts', import.meta.url),
      argument: { connection: server.connection, name },
      execArgv: ['--conditions=@tenure/source'],
    }),
    outage: { begin: () => server.halt(), end: () => server.resume() },
    foreignData: {
      put: async ({ name }) =>
        void (await sql(
          `UPDATE tenure_leases SET record = jsonb_set(record, '{annotations,example.com/note}', '"keep"') || '{"team":"ops"}'
            WHERE name = $1`,
          [name],
        )),
      read: async ({ name }) => {
        const { rows } = await sql(
          `SELECT record->>'team' AS team, record->'annotations'->>'example.com/note' AS note FROM tenure_leases WHERE name = $1`,
          [name],
        )
        expect(rows).toEqual([{ team: 'ops', note: 'keep' }])
        return rows
      },
    },
  })
  for (const { name, run } of cases) test(name, run)

  test('reads a record that is too long to be announced', async () => {
    await using fixture = await createFixture()
    const seen = Promise.withResolvers<string>()
    fixture.openLock().watch({
      changed: (lease) => lease.kind === 'present' && seen.resolve(lease.record.holderIdentity),
      up: () => void fixture.openLock().create({ ...record, holderIdentity: 'x'.repeat(10_000) }, options),
      down: () => {},
    })
    expect(await seen.promise).toHaveLength(10_000)
  })

  test('needs no more of the database than the README grants', async () => {
    await using fixture = await createFixture()
    const readme = await readFile(join(import.meta.dirname, '../../../examples/postgres-lock/README.md'), 'utf8')
    const grants = readme.match(/GRANT .*;/gu)?.join('\n') ?? ''
    await sql(`DROP ROLE IF EXISTS janitor; CREATE ROLE janitor LOGIN; ${grants}`)
    const lock = new PostgresLock({ connection: { ...server.connection, user: 'janitor' }, name: fixture.name })
    const up = Promise.withResolvers<void>()
    lock.watch({ changed: () => {}, up: up.resolve, down: up.reject })
    await up.promise
    const lease = await lock.create(record, options)
    expect(await lock.update(lease, record, options)).toMatchObject({ kind: 'present' })
    await lock.close()
  })

  test('goes on when the server was restarted, and numbers on from where it was', async () => {
    await using fixture = await createFixture()
    const lock = fixture.openLock()
    const lease = await lock.create(record, options)
    const reports: string[] = []
    const upAgain = Promise.withResolvers<void>()
    lock.watch({
      changed: ({ version }) => reports.push(String(version)),
      up: () => {
        if (reports.push('up') > 3) upAgain.resolve()
      },
      down: () => reports.push('down'),
    })
    while (!reports.includes('up')) await delay(5)
    await server.restart()
    await upAgain.promise
    expect(reports.slice(0, 3)).toEqual([String(lease.version), 'up', 'down'])
    const after: PresentLease = await lock.update(lease, { ...record, leaseTransitions: 1 }, options)
    expect(after.version).toBeGreaterThan(lease.version)
  })
})

describe('a request to a lock on PostgreSQL that waits for the lock of a row', () => {
  const waiting = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%tenure_leases%'`
  const untilWaiting = () =>
    vi.waitFor(async () => expect((await sql(waiting)).rows).toHaveLength(1), { timeout: 10_000, interval: 5 })

  async function rowLockedBySomebody() {
    const fixture = await createFixture()
    const lock = fixture.openLock()
    const lease = await lock.create(record, options)
    const other = new pg.Client(server.connection)
    await other.connect()
    await other.query('BEGIN')
    await other.query('SELECT FROM tenure_leases WHERE name = $1 FOR UPDATE', [fixture.name])
    return {
      lock,
      lease,
      /** Ends the transaction that has the lock of the row, and returns the versions of the lease after that. */
      versionAfterwards: async () => {
        await other.query('COMMIT')
        await other.end()
        return (await fixture.openLock().get(options)).version
      },
      [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
    }
  }

  test('leaves nothing behind when it is aborted: it has not happened, and never will', async () => {
    await using locked = await rowLockedBySomebody()
    const aborting = new AbortController()
    const update = locked.lock.update(locked.lease, record, { signal: aborting.signal })
    const rejected = expect(update).rejects.toMatchObject({ failure: 'throttled' })
    await untilWaiting()
    aborting.abort()
    await rejected
    await locked.lock.close()
    expect((await sql(waiting)).rows).toEqual([])
    expect(await locked.versionAfterwards()).toBe(locked.lease.version)
  })

  test('is over when the lock is closed right after the abort', async () => {
    await using locked = await rowLockedBySomebody()
    const aborting = new AbortController()
    const update = locked.lock.update(locked.lease, record, { signal: aborting.signal })
    const rejected = expect(update).rejects.toBeInstanceOf(LockRequestError)
    await untilWaiting()
    aborting.abort()
    await locked.lock.close()
    expect((await sql(waiting)).rows).toEqual([])
    await rejected
    expect(await locked.versionAfterwards()).toBe(locked.lease.version)
  })

  test('is given up by the server when nobody aborts it', async () => {
    await using locked = await rowLockedBySomebody()
    await expect(locked.lock.update(locked.lease, record, options)).rejects.toMatchObject({ failure: 'throttled' })
    expect(await locked.versionAfterwards()).toBe(locked.lease.version)
  })

  test('does not keep the next request from its own connection', async () => {
    await using locked = await rowLockedBySomebody()
    const aborting = new AbortController()
    const rejected = expect(locked.lock.update(locked.lease, record, { signal: aborting.signal })).rejects.toThrow()
    await untilWaiting()
    aborting.abort()
    expect(await locked.lock.get(options)).toMatchObject({ version: locked.lease.version })
    await rejected
    await locked.versionAfterwards()
    expect(await locked.lock.update(locked.lease, record, options)).toMatchObject({ kind: 'present' })
  })
})

describe('two replicas on a lock on PostgreSQL', () => {
  test('elect one of them, and hand over when it steps down and when it stops, each time with a greater epoch', async () => {
    const folder = await createTemporaryFolder('postgres-traces')
    onTestFinished(folder.remove)
    const name = `lease-${(serial += 1)}`
    const epochs: bigint[] = []
    const working = new Set<string>()
    const overlaps: string[] = []
    const replica = (identity: string): Manager => {
      const createLock = () => new PostgresLock({ connection: server.connection, name })
      const manager = new Manager({ identity, lease: { name }, createLock })
      manager.use(traceExtension(traceInto(folder.path, 'both').TENURE_TRACE, silentLogger))
      return manager.register(() => ({
        name: 'work',
        run: async (term: Term) => {
          overlaps.push(...working)
          working.add(identity)
          epochs.push(term.epoch)
          await term.sleep(1e9).catch(() => {})
          working.delete(identity)
        },
      }))
    }
    const [a, b] = [replica('a'), replica('b')]
    const until = async (identity: string, terms: number) => {
      while (epochs.length < terms || !working.has(identity)) await delay(2)
    }
    const runs = [a.start()]
    await until('a', 1)
    runs.push(b.start())
    while (b.state.kind !== 'following' || b.candidacies[0]?.standing === 'unseen') await delay(2)
    await a.stepDown()
    await until('b', 2)
    await b.stop()
    await until('a', 3)
    await a.stop()
    await Promise.all(runs)
    expect(overlaps).toEqual([])
    expect(epochs).toEqual(epochs.toSorted((x, y) => (x < y ? -1 : 1)))
    expect(new Set(epochs).size).toBe(3)
    await assertTraces(folder.path)
  })
})
