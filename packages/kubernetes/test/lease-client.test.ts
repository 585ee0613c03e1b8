import { type Logger } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import type { ApiServer } from '@tenure/api-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LeaseClient, type LeaseClientOptions } from '../src/locks/lease/lease-client.ts'
import { LeaseLock } from '../src/locks/lease/lease-lock.ts'
import { leaseRole } from '../src/manifests/lease-role.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { record } from './support/lease-record.ts'
import { ManualClock } from './support/manual-clock.ts'
import { WatchLog } from './support/watch-log.ts'

const unaborted = { signal: new AbortController().signal }

let cluster: EmbeddedCluster
let server: ApiServer
let serial = 0

beforeAll(async () => {
  cluster = await EmbeddedCluster.start('shared-0')
  server = cluster.server
})

afterAll(() => cluster.stop())

/** A namespace of its own, and a client of a user who may do there what the Role for the given leases allows. */
async function opened(leases: readonly string[], options: Partial<LeaseClientOptions> = {}) {
  const namespace = `shared-${++serial}`
  const user = `user-${serial}`
  await cluster.asAdmin('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
  const kubeConfig = cluster.kubeConfig(user)
  const client = new LeaseClient({ kubeConfig, ...options })
  const grant = async (names: readonly string[], roleName = 'stand') => {
    const [name = 'none', ...others] = names
    const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
    const { role, roleBinding } = leaseRole({ name, others, namespace, subjects, roleName })
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
    await cluster.asAdmin('POST', `${rbac}/roles`, role)
    await cluster.asAdmin('POST', `${rbac}/rolebindings`, roleBinding)
  }
  if (leases.length > 0) await grant(leases)
  return {
    client,
    user,
    grant,
    lock: (name: string, silenceMs = 4000) => new LeaseLock({ client, name, namespace, silenceMs }),
    count: (verb: string) => server.requests.count({ user, verb }),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** Follows a lease and writes down what it sees. */
function follow(lock: LeaseLock) {
  const log = new WatchLog()
  return { log, lock, watch: lock.watch(log) }
}

describe('the leases of a LeaseClient in one namespace', () => {
  test('share one list and one watch, and each hears of its own alone', async () => {
    await using run = await opened(['north', 'south'])
    const [north, south] = [follow(run.lock('north')), follow(run.lock('south'))]
    await Promise.all([north.log.until(2), south.log.until(2)])
    const lease = await north.lock.create(record, unaborted)
    const other = await south.lock.create({ ...record, holderIdentity: 'b' }, unaborted)
    await Promise.all([north.log.until(3), south.log.until(3)])
    expect(north.log.lines.slice(1)).toEqual(['up', `present@${lease.version} a`])
    expect(south.log.lines.slice(1)).toEqual(['up', `present@${other.version} b`])
    expect([run.count('list'), run.count('watch')]).toEqual([1, 1])
  })

  test('are a hundred behind one watch just as well', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `lease-${index}`)
    await using run = await opened(names)
    const followed = names.map((name) => follow(run.lock(name)))
    await Promise.all(followed.map(({ log }) => log.until(2)))
    const leases = await Promise.all(followed.map(({ lock }) => lock.create(record, unaborted)))
    await Promise.all(followed.map(({ log }) => log.until(3)))
    expect(followed.map(({ log }) => log.lines[2])).toEqual(leases.map(({ version }) => `present@${version} a`))
    expect([run.count('list'), run.count('watch')]).toEqual([1, 1])
  })

  test('are not affected when another is closed', async () => {
    await using run = await opened(['north', 'south'])
    const [north, south] = [follow(run.lock('north')), follow(run.lock('south'))]
    await Promise.all([north.log.until(2), south.log.until(2)])
    await north.lock.close()
    const lease = await south.lock.create(record, unaborted)
    expect((await south.log.until(3))[2]).toBe(`present@${lease.version} a`)
    expect(run.count('watch')).toBe(1)
    await expect(north.lock.get(unaborted)).rejects.toMatchObject({ failure: 'unreachable' })
  })

  test('may be watched twice, and then as many times as there are watchers', async () => {
    await using run = await opened(['north', 'south'])
    const logs = [follow(run.lock('north')), follow(run.lock('north')), follow(run.lock('south'))]
    await Promise.all(logs.map(({ log }) => log.until(2)))
    const lease = await run.lock('north').create(record, unaborted)
    expect((await logs[0]?.log.until(3))?.[2]).toBe(`present@${lease.version} a`)
    expect((await logs[1]?.log.until(3))?.[2]).toBe(`present@${lease.version} a`)
  })

  test('that come later join the watch and see how it is, and the others hear nothing twice', async () => {
    await using run = await opened(['north', 'south', 'west'])
    const [north, south] = [follow(run.lock('north')), follow(run.lock('south'))]
    await Promise.all([north.log.until(2), south.log.until(2)])
    const lease = await run.lock('west').create(record, unaborted)
    const west = follow(run.lock('west'))
    expect(await west.log.until(2)).toEqual([`present@${lease.version} a`, 'up'])
    const update = await west.lock.update(lease, { ...record, holderIdentity: 'b' }, unaborted)
    expect((await west.log.until(3))[2]).toBe(`present@${update.version} b`)
    expect(north.log.lines).toHaveLength(2)
    expect(south.log.lines).toHaveLength(2)
  })

  test('end their watch with the last of them', async () => {
    await using run = await opened(['north', 'south'])
    const followed = [follow(run.lock('north')), follow(run.lock('south'))]
    await Promise.all(followed.map(({ log }) => log.until(2)))
    await Promise.all(followed.map(({ watch }) => watch.close()))
    const again = follow(run.lock('north'))
    await again.log.until(2)
    expect(run.count('watch')).toBe(2)
  })

  test('all hear that the watch is down, in the shortest time that one of them asked for, and that it is up', async () => {
    const clock = new ManualClock()
    await using run = await opened(['north', 'south'], { clock })
    const [north, south] = [follow(run.lock('north', 200)), follow(run.lock('south', 60_000))]
    await Promise.all([north.log.until(2), south.log.until(2)])
    const silence = server.faults.silenceWatches({ user: run.user })
    const lease = await north.lock.create(record, unaborted)
    clock.advance(125)
    await north.log.until(5)
    // The poll has shown what the watch did not.
    while (south.log.lines.length < 3) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(1)
    }
    expect(clock.now()).toBeLessThanOrEqual(200)
    await Promise.all([north.log.until(7), south.log.until(4)])
    expect(north.log.lines.slice(2)).toEqual(['down', `present@${lease.version} a`, 'up', 'down', 'up'])
    expect(south.log.lines.slice(2)).toEqual(['down', 'up'])
    silence.remove()
  })

  test('are not hidden by a request of one of them that is not answered', async () => {
    await using run = await opened(['north', 'south'])
    const [north, south] = [run.lock('north'), run.lock('south')]
    const [lease, other] = [await north.create(record, unaborted), await south.create(record, unaborted)]
    server.faults.add({ match: { user: run.user, verb: 'update' }, effect: { kind: 'black-hole' }, times: 1 })
    const hung = new AbortController()
    const lost = north.update(lease, record, { signal: hung.signal })
    const written = await south.update(other, { ...record, leaseTransitions: 1 }, unaborted)
    expect(written.record.leaseTransitions).toBe(1)
    hung.abort()
    await expect(lost).rejects.toMatchObject({ failure: 'unknown-outcome' })
    expect(await north.update(lease, { ...record, leaseTransitions: 1 }, unaborted)).toBeDefined()
  })
})

describe('a single lease of a LeaseClient', () => {
  test('is watched by its name, with rights on that one alone', async () => {
    await using run = await opened(['north'])
    const north = follow(run.lock('north'))
    await north.log.until(2)
    expect(north.log.lines[1]).toBe('up')
  })
})

describe('a watch that may not be shared', () => {
  test('is replaced by one for each lease where those are allowed, and a line of the log says so', async () => {
    const warnings: string[] = []
    const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) }
    await using run = await opened([], { logger })
    await run.grant(['north'], 'north')
    await run.grant(['south'], 'south')
    const [north, south] = [follow(run.lock('north')), follow(run.lock('south'))]
    await Promise.all([north.log.until(2), south.log.until(2)])
    expect([north.log.lines[1], south.log.lines[1]]).toEqual(['up', 'up'])
    const lease = await south.lock.create(record, unaborted)
    expect((await south.log.until(3))[2]).toBe(`present@${lease.version} a`)
    expect(north.log.causes).toEqual([])
    expect(warnings).toEqual([expect.stringContaining('not allowed to list and watch leases.coordination.k8s.io')])
  })

  test('is tried again where single ones are forbidden too', async () => {
    await using run = await opened([])
    const [north, south] = [follow(run.lock('north')), follow(run.lock('south'))]
    await Promise.all([north.log.until(1), south.log.until(1)])
    expect(north.log.causes[0]).toMatchObject({ failure: 'forbidden' })
    await run.grant(['north', 'south'])
    await Promise.all([north.log.until(3), south.log.until(3)])
    expect(north.log.lines.map((line) => line.split('@')[0])).toEqual(['down', 'absent', 'up'])
    expect(run.count('watch')).toBe(1)
  })
})
