import type { LeaseRecord, LockSnapshot, PresentLease } from '@tenure/core'
import type { HolderObserver, LeaseHolder } from '@tenure/core/internal'
import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import type { ApiRequest } from '../src/client/api-request.ts'
import { CANDIDATES } from '../src/coordinated/candidate-object.ts'
import { CoordinatedLock, type CoordinatedLockOptions } from '../src/coordinated/coordinated-lock.ts'
import { type JsonObject, objectAt } from '../src/json-object.ts'
import type { DeathProof } from '../src/locks/death-proof.ts'
import { LEASES } from '../src/locks/lease/lease-object.ts'
import { record } from './support/lease-record.ts'
import { ObjectServer, refusalOf } from './support/object-server.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { neverAnswered } from './support/scripted-connection.ts'

/* What a CoordinatedLock asks, writes and logs, step by step, on an API server that the test plays. */

const FACTS = { binaryVersion: '1.36.0', emulationVersion: '1.35.0' }
const LEASE = { ...LEASES, namespace: 'ops', name: 'job' }
const CANDIDATE = { ...CANDIDATES, namespace: 'ops', name: 'web-1' }
const { signal } = new AbortController()

let clock: VirtualClock
let server: ObjectServer
let lines: Line[]
/** Whether a controller elects. */
let elects: boolean
/** What the observer of the lock got. */
let seen: unknown[]
let changes: number

beforeEach(() => {
  clock = new VirtualClock({ now: 1000 })
  server = new ObjectServer(clock)
  lines = []
  elects = true
  seen = []
  changes = 0
  server.onAnswer = ({ query }, answer) => (query?.['dryRun'] === undefined || elects ? answer : {})
})

function lockOf(more: Partial<CoordinatedLockOptions> = {}): CoordinatedLock {
  const lock = new CoordinatedLock({
    client: server.client,
    name: 'job',
    namespace: 'ops',
    identity: 'web-1',
    facts: FACTS,
    leaseDurationMs: 15_000,
    coordination: 'auto',
    clock,
    random: () => 0,
    logger: recordingLogger(lines),
    ...more,
  })
  lock.coordinator.watch(() => (changes += 1))
  return lock
}

/** A lock that is watched and knows who decides. */
async function watched(more: Partial<CoordinatedLockOptions> = {}): Promise<CoordinatedLock> {
  const lock = lockOf(more)
  lock.watch({
    changed: (snapshot) => seen.push(snapshot),
    up: () => seen.push('up'),
    down: (cause) => seen.push(cause),
  })
  await clock.advance(0)
  server.taken()
  changes = 0
  return lock
}

/** Stores a record in the lease as somebody else would, and shows it. */
function put(fields: Partial<LeaseRecord>): void {
  const { annotations: _, ...spec } = { ...record, ...fields }
  server.put(LEASE, { spec })
  server.show(LEASE)
}

const standing = (name: string, more: JsonObject = {}) =>
  server.put({ ...CANDIDATE, name }, { spec: { leaseName: 'job', ...FACTS, renewTime: '2026', ...more } })
const specOf = (): JsonObject => objectAt(server.get(LEASE) ?? {}, 'spec')
const latest = (): PresentLease => seen.findLast((view) => (view as LockSnapshot).kind === 'present') as PresentLease
const probes = (): number => server.requests.splice(0).filter(({ query }) => query?.['dryRun'] !== undefined).length
const events = (): readonly unknown[] => lines.map(({ fields }) => fields['event'])
const messages = (): readonly string[] => lines.map(({ message }) => message)
const failProbes = (error: Error) => {
  server.onRequest = ({ query }) => {
    if (query?.['dryRun'] !== undefined) throw error
  }
}
const refuse =
  (method: string, path: RegExp, reason: Parameters<typeof refusalOf>[1]) =>
  (request: ApiRequest): void => {
    if (request.method === method && path.test(request.path)) throw refusalOf(request.target, reason)
  }

describe('who decides', () => {
  test.each([
    [true, 'server', 'the election controller of the API server decides who leads'],
    [false, 'peers', 'the replicas decide who leads'],
  ] as const)('is asked when the lease is watched: where a controller elects is %s, %s', async (is, state, message) => {
    elects = is
    const lock = lockOf()
    expect(lock.coordinator.state).toBe('asking')
    await clock.advance(60_000)
    expect(server.requests).toEqual([])
    lock.watch({ changed: () => {}, up: () => {}, down: () => {} })
    await clock.advance(0)
    expect(server.requests).toMatchObject([
      { method: 'POST', path: '/apis/coordination.k8s.io/v1/namespaces/ops/leases', query: { dryRun: 'All' } },
    ])
    expect(lock.coordinator.state).toBe(state)
    expect(changes).toBe(1)
    expect(lines).toEqual([
      { level: 'info', message, fields: { event: 'coordination', lease: 'job', coordination: state } },
    ])
  })

  test('is asked again every five minutes, and logged when it changes', async () => {
    const lock = await watched()
    await clock.advance(299_999)
    expect(probes()).toBe(0)
    await clock.advance(1)
    expect(probes()).toBe(1)
    expect([lines.length, changes]).toEqual([1, 0])
    elects = false
    await clock.advance(300_000)
    expect(lock.coordinator.state).toBe('peers')
    expect([lines.length, changes]).toEqual([2, 1])
  })

  test('is asked again when the watch has reconnected', async () => {
    await watched()
    const [watch] = server.watches
    watch?.observer.up()
    await clock.advance(0)
    expect(probes()).toBe(0)
    const cause = new Error('reset')
    watch?.observer.down(cause)
    watch?.observer.up()
    await clock.advance(0)
    expect(probes()).toBe(1)
    watch?.observer.up()
    await clock.advance(0)
    expect(probes()).toBe(0)
    expect(seen).toEqual(['up', cause, 'up', 'up'])
    // From then on every five minutes, once.
    await clock.advance(299_999)
    expect(probes()).toBe(0)
    await clock.advance(1)
    expect(probes()).toBe(1)
  })

  test('is asked once at a time', async () => {
    const answered = Promise.withResolvers<void>()
    server.onRequest = () => answered.promise
    const lock = await watched()
    lock.watch({ changed: () => {}, up: () => {}, down: () => {} })
    await clock.advance(0)
    expect(probes()).toBe(0)
    answered.resolve()
    await clock.advance(0)
    expect(lock.coordinator.state).toBe('server')
  })

  test('is asked again a second after a failure, which is logged once', async () => {
    failProbes(new Error('no route'))
    const lock = await watched()
    expect(lock.coordinator.state).toBe('asking')
    await clock.advance(999)
    expect(probes()).toBe(0)
    await clock.advance(1)
    expect(probes()).toBe(1)
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'could not find out whether the API server elects: no route',
        fields: { event: 'coordination-unknown', lease: 'job', err: expect.any(Error) as Error },
      },
    ])
    failProbes(new Error('no name'))
    await clock.advance(1000)
    expect(messages().at(-1)).toBe('could not find out whether the API server elects: no name')
    server.onRequest = () => {}
    await clock.advance(1000)
    failProbes(new Error('no name'))
    await clock.advance(300_000)
    expect(events()).toEqual(['coordination-unknown', 'coordination-unknown', 'coordination', 'coordination-unknown'])
  })

  test('is asked again later by up to a fifth, as chance has it', async () => {
    failProbes(new Error('no route'))
    await watched({ random: () => 0.5 })
    await clock.advance(1099)
    expect(probes()).toBe(0)
    await clock.advance(1)
    expect(probes()).toBe(1)
  })

  test('is unknown after 2.5 s without an answer', async () => {
    server.onRequest = neverAnswered
    await watched()
    await clock.advance(2499)
    expect(lines).toEqual([])
    await clock.advance(1)
    expect(messages()).toEqual(['could not find out whether the API server elects: No answer within 2500 ms'])
  })

  test('is the controller from the start where the replica insists on it', async () => {
    elects = false
    const lock = lockOf({ coordination: 'server' })
    expect(lock.coordinator.state).toBe('server')
    lock.watch({ changed: () => {}, up: () => {}, down: () => {} })
    await clock.advance(0)
    expect(probes()).toBe(1)
    expect(lines).toEqual([
      {
        level: 'warn',
        message:
          "nobody is elected: `coordination: 'server'` needs an API server with the feature gate CoordinatedLeaderElection",
        fields: { event: 'coordination-missing', lease: 'job', err: expect.any(Error) as Error },
      },
    ])
    await clock.advance(999)
    expect(probes()).toBe(0)
    await clock.advance(1)
    expect(probes()).toBe(1)
    elects = true
    await clock.advance(1000)
    expect([lock.coordinator.state, changes, probes()]).toEqual(['server', 0, 1])
    await clock.advance(299_999)
    expect(probes()).toBe(0)
  })

  test('is asked again when the API server does not serve LeaseCandidates', async () => {
    const lock = await watched()
    server.onRequest = refuse('POST', /leasecandidates$/, 'NotFound')
    elects = false
    lock.coordinator.stand(0)
    await clock.advance(0)
    expect(lock.coordinator.state).toBe('peers')
  })
})

describe('a lease that contradicts that the replicas decide', () => {
  beforeEach(() => {
    elects = false
  })

  test.each<[string, Partial<LeaseRecord>]>([
    ['prefers somebody', { preferredHolder: 'web-2' }],
    ['names this replica', { holderIdentity: 'web-1', acquireTime: undefined }],
  ])('has it asked again where it %s', async (_, fields) => {
    const lock = await watched()
    await clock.advance(5000)
    elects = true
    put(fields)
    await clock.advance(0)
    expect(lock.coordinator.state).toBe('server')
  })

  test('has it asked again no sooner than 5 s after it was asked', async () => {
    await watched()
    await clock.advance(4999)
    put({ preferredHolder: 'web-2' })
    await clock.advance(0)
    expect(probes()).toBe(0)
    await clock.advance(1)
    put({ preferredHolder: 'web-2' })
    await clock.advance(0)
    expect(probes()).toBe(1)
  })

  test.each<[string, Partial<LeaseRecord>]>([
    ['prefers nobody', { preferredHolder: '' }],
    ['names another replica', { holderIdentity: 'web-2', acquireTime: undefined }],
    ['is held by this replica', { holderIdentity: 'web-1' }],
  ])('is not a lease that %s', async (_, fields) => {
    await watched()
    await clock.advance(5000)
    put(fields)
    await clock.advance(0)
    expect(probes()).toBe(0)
  })

  test('is not a lease that does not exist', async () => {
    await watched()
    await clock.advance(5000)
    server.show(LEASE)
    await clock.advance(0)
    expect(probes()).toBe(0)
    expect(seen).toEqual([{ kind: 'absent', version: 0n }])
  })

  test('does not matter where the controller decides', async () => {
    elects = true
    await watched()
    await clock.advance(5000)
    put({ preferredHolder: 'web-2' })
    await clock.advance(0)
    expect(probes()).toBe(0)
  })
})

describe('the candidate of a replica', () => {
  test('is created where the controller decides, from the time from which the replica stands', async () => {
    const lock = await watched({ pod: { name: 'p', uid: 'u' } })
    lock.coordinator.stand(2000)
    await clock.advance(999)
    expect(server.taken()).toEqual([])
    await clock.advance(1)
    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        path: '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates',
        body: {
          metadata: { name: 'web-1', ownerReferences: [{ name: 'p', uid: 'u' }] },
          spec: { leaseName: 'job', ...FACTS },
        },
      },
    ])
    lock.coordinator.stand(undefined)
    await clock.advance(0)
    expect(server.get(CANDIDATE)).toBeUndefined()
  })

  test('waits until it is known that the controller decides', async () => {
    const lock = lockOf()
    lock.coordinator.stand(0)
    await clock.advance(10_000)
    expect(server.taken()).toEqual([])
    lock.watch({ changed: () => {}, up: () => {}, down: () => {} })
    await clock.advance(0)
    expect(server.taken()).toEqual(['POST ops/leases', 'POST ops/leasecandidates'])
  })

  test('is deleted when the replicas decide, and created again when the controller does', async () => {
    const lock = await watched()
    lock.coordinator.stand(0)
    await clock.advance(10_000)
    elects = false
    server.taken()
    await clock.advance(300_000)
    expect(server.get(CANDIDATE)).toBeUndefined()
    lock.coordinator.stand(5)
    await clock.advance(1000)
    expect(server.get(CANDIDATE)).toBeUndefined()
    elects = true
    await clock.advance(300_000)
    expect(server.get(CANDIDATE)).toBeDefined()
  })

  test('makes way for an equal candidate that holds the lease, as the lease was seen last', async () => {
    const lock = await watched()
    put({ holderIdentity: 'web-9' })
    lock.coordinator.stand(0)
    await clock.advance(0)
    standing('web-9')
    await clock.advance(100)
    expect(server.get(CANDIDATE)).toBeUndefined()
  })

  test('stays while nobody holds the lease, for an equal candidate with a greater name', async () => {
    const lock = await watched()
    put({ holderIdentity: 'web-9' })
    server.remove(LEASE)
    server.show(LEASE)
    lock.coordinator.stand(0)
    await clock.advance(0)
    standing('web-9')
    await clock.advance(100)
    expect(server.get(CANDIDATE)).toBeDefined()
  })

  test('counts its pings, and knows the versions of the others', async () => {
    const lock = await watched()
    lock.coordinator.stand(0)
    await clock.advance(0)
    standing('web-9', { emulationVersion: '1.0.0' })
    await clock.advance(1100)
    expect(lock.coordinator.versionsOf?.('web-9')).toMatchObject({ emulationVersion: '1.0.0' })
    expect(lock.coordinator.pings).toEqual({ answered: 0, late: 0 })
    const stored = server.get(CANDIDATE) ?? {}
    server.put(CANDIDATE, { ...stored, spec: { ...objectAt(stored, 'spec'), pingTime: '2027-01-01T00:00:00.000000Z' } })
    server.show(CANDIDATE)
    await clock.advance(0)
    expect(lock.coordinator.pings).toEqual({ answered: 1, late: 0 })
  })

  test.each([
    ['deletes', true, '', ['DELETE leasecandidates/web-1', 'PUT leases/job']],
    ['keeps', true, 'web-1', ['PUT leases/job']],
    ['has none to delete', false, '', ['PUT leases/job']],
  ])('of a replica that updates the lease: it %s it', async (_, isServer, holderIdentity, requests) => {
    const lock = await watched()
    lock.coordinator.stand(0)
    await clock.advance(10_000)
    if (!isServer) {
      elects = false
      await clock.advance(300_000)
    }
    put({ holderIdentity: 'web-1' })
    await clock.advance(0)
    server.taken()
    await lock.update(latest(), { ...record, holderIdentity }, { signal })
    expect(server.taken()).toEqual(requests)
  })
})

test('a candidate that could not be deleted does not delay a release where the replicas decide', async () => {
  const lock = await watched()
  lock.coordinator.stand(0)
  await clock.advance(10_000)
  elects = false
  server.onRequest = refuse('DELETE', /leasecandidates/, 'InternalError')
  await clock.advance(290_000)
  expect(lock.coordinator.state).toBe('peers')
  put({ holderIdentity: 'web-1' })
  await clock.advance(0)
  server.taken()
  await lock.update(latest(), { ...record, holderIdentity: '' }, { signal })
  expect(server.taken()).toEqual(['PUT leases/job'])
})

describe('whom the controller prefers', () => {
  test('is read when this replica holds the lease, and reported', async () => {
    const lock = await watched()
    standing('web-2')
    put({ holderIdentity: 'web-1', preferredHolder: 'web-2' })
    await clock.advance(0)
    expect(server.requests).toMatchObject([
      { method: 'GET', path: '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates/web-2' },
    ])
    expect(lock.coordinator.preferred).toEqual({ identity: 'web-2', isAlive: true })
    expect(changes).toBe(1)
    put({ holderIdentity: 'web-1' })
    expect(lock.coordinator.preferred).toBeUndefined()
  })

  test.each<[string, Partial<LeaseRecord>]>([
    ['another replica holds the lease', { holderIdentity: 'web-3', preferredHolder: 'web-2' }],
    ['nobody is preferred', { holderIdentity: 'web-1' }],
    ['the preference is empty', { holderIdentity: 'web-1', preferredHolder: '' }],
    ['this replica is preferred itself', { holderIdentity: 'web-1', preferredHolder: 'web-1' }],
  ])('is not asked where %s', async (_, fields) => {
    const lock = await watched()
    put(fields)
    await clock.advance(1000)
    expect(server.taken()).toEqual([])
    expect(lock.coordinator.preferred).toBeUndefined()
  })

  test('does not lead in place of this replica where it is worse, or equal and of the same second', async () => {
    const lock = await watched()
    lock.coordinator.stand(0)
    await clock.advance(0)
    standing('web-2')
    put({ holderIdentity: 'web-1', preferredHolder: 'web-2' })
    await clock.advance(0)
    expect(lock.coordinator.preferred).toEqual({ identity: 'web-2', isAlive: false })
    standing('web-3', { emulationVersion: '1.36.0' })
    put({ holderIdentity: 'web-1', preferredHolder: 'web-3' })
    await clock.advance(0)
    expect(lock.coordinator.preferred).toEqual({ identity: 'web-3', isAlive: false })
  })

  test('stays unknown where it cannot be read, which one line says', async () => {
    const lock = await watched()
    lines = []
    const other = await watched()
    server.onRequest = neverAnswered
    put({ holderIdentity: 'web-1', preferredHolder: 'web-2' })
    await clock.advance(2499)
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([])
    await clock.advance(1)
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: 'could not read the LeaseCandidate web-2: No answer within 2500 ms',
        fields: { event: 'candidate-unseen', lease: 'job', err: expect.any(Error) as Error },
      },
    ])
    expect([lock.coordinator.preferred, other.coordinator.preferred]).toEqual([undefined, undefined])
  })

  test('is heard of no longer by a listener that has left', async () => {
    const lock = await watched()
    let heard = 0
    const listener = lock.coordinator.watch(() => (heard += 1))
    await listener.close()
    put({ holderIdentity: 'web-1', preferredHolder: 'web-2' })
    await clock.advance(0)
    expect([heard, changes]).toEqual([0, 1])
  })
})

describe('a lease that nobody writes', () => {
  const STILL_MS = 35_000

  test('is freed with its times 20 s after its holder may act, and who decides is asked again', async () => {
    await watched()
    put({ holderIdentity: 'web-2', leaseDurationSeconds: 5 })
    await clock.advance(STILL_MS - 1)
    expect(server.taken()).toEqual([])
    await clock.advance(1)
    expect(server.taken()).toEqual(['POST ops/leases', 'PUT leases/job'])
    const { annotations: _, ...times } = record
    expect(specOf()).toEqual({ ...times, holderIdentity: '', leaseDurationSeconds: 1 })
  })

  test.each<[string, Partial<LeaseRecord>]>([
    ['is free', { holderIdentity: '' }],
    ['this replica holds', { holderIdentity: 'web-1' }],
  ])('stays as it is where it %s', async (_, fields) => {
    await watched()
    put(fields)
    await clock.advance(STILL_MS)
    expect(server.taken()).toEqual(['POST ops/leases'])
  })

  test('stays as it is where the replicas decide', async () => {
    elects = false
    await watched()
    put({ holderIdentity: 'web-2' })
    await clock.advance(STILL_MS)
    expect(server.taken()).toEqual(['POST ops/leases'])
  })

  test('needs nothing where there is none', async () => {
    await watched()
    server.show(LEASE)
    await clock.advance(STILL_MS)
    expect(server.taken()).toEqual(['POST ops/leases'])
  })

  test('that another replica has freed just before is not worth a line', async () => {
    await watched()
    lines = []
    server.onRequest = refuse('PUT', /./, 'Conflict')
    put({ holderIdentity: 'web-2' })
    await clock.advance(STILL_MS)
    expect(server.taken()).toContain('PUT leases/job')
    expect(lines).toEqual([])
  })

  test('that cannot be freed within 2.5 s is logged', async () => {
    await watched()
    server.onRequest = (request) => (request.method === 'PUT' ? neverAnswered(request) : undefined)
    put({ holderIdentity: 'web-2' })
    await clock.advance(STILL_MS + 2500)
    expect(lines.slice(1)).toEqual([
      {
        level: 'warn',
        message: 'could not free the lease of web-2, which does not come: No answer within 2500 ms',
        fields: { event: 'lease-stuck', lease: 'job', err: expect.any(Error) as Error },
      },
    ])
  })

  test.each([
    ['that has left frees the lease', false, ['GET leasecandidates/web-2', 'PUT leases/job']],
    ['that still stands leaves it as it is', true, ['GET leasecandidates/web-2']],
  ])('and names a replica %s after half a second', async (_, stands, requests) => {
    await watched()
    if (stands) standing('web-2')
    put({ holderIdentity: '' })
    put({ holderIdentity: 'web-2', acquireTime: undefined })
    await clock.advance(499)
    expect(server.taken()).toEqual([])
    await clock.advance(1)
    expect(server.taken()).toEqual(requests)
  })

  test('and names a replica after a time without a watch stays as it is', async () => {
    await watched()
    put({ holderIdentity: '' })
    server.watches[0]?.observer.down(new Error('reset'))
    put({ holderIdentity: 'web-2', acquireTime: undefined })
    await clock.advance(10_000)
    expect(server.taken()).toEqual([])
  })
})

describe('a holder whose process has provably ended', () => {
  const DEAD: LeaseHolder = { identity: 'web-2', acquireTime: record.acquireTime ?? '', processRef: 'ref' }
  let observer: HolderObserver | undefined
  const deathProof: DeathProof = {
    processRef: 'own',
    watchHolder: (_, given) => {
      observer = given
      return { close: async () => {} }
    },
  }
  const GRAVE = ['GET leasecandidates/web-2', 'DELETE leasecandidates/web-2', 'GET leases/job', 'PUT leases/job']

  /** A lock that watches a holder, whose lease and candidate are stored. */
  async function watching(): Promise<{ readonly lock: CoordinatedLock; readonly deaths: number[] }> {
    const lock = await watched({ deathProof })
    const deaths: number[] = []
    lock.watchHolder?.(DEAD, { dead: () => deaths.push(clock.now()) })
    put({ holderIdentity: 'web-2' })
    standing('web-2')
    return { lock, deaths }
  }

  test('leaves a candidate and a lease that are removed, once', async () => {
    const { deaths } = await watching()
    observer?.dead()
    await clock.advance(0)
    expect(deaths).toEqual([1000])
    expect(server.taken()).toEqual(GRAVE)
    expect(specOf()['holderIdentity']).toBe('')
    server.show(LEASE)
    elects = false
    await clock.advance(300_000)
    elects = true
    await clock.advance(300_000)
    expect(server.taken().filter((request) => GRAVE.includes(request))).toEqual([])
  })

  test('leaves nothing to remove where the replicas decide, until the controller does', async () => {
    elects = false
    const { deaths } = await watching()
    observer?.dead()
    await clock.advance(0)
    expect(deaths).toEqual([1000])
    expect(server.taken()).toEqual([])
    elects = true
    // It asks again because nobody writes the lease.
    await clock.advance(35_000)
    expect(server.taken()).toEqual(['POST ops/leases', ...GRAVE])
  })

  test('is tried to be removed again after a second where that fails, which is logged', async () => {
    await watching()
    const refused = refuse('GET', /leases\/job$/, 'InternalError')
    server.onRequest = refused
    observer?.dead()
    await clock.advance(999)
    expect(server.taken()).toEqual(GRAVE.slice(0, 3))
    expect(lines.slice(1)).toMatchObject([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^could not release the lease of web-2, whose process has ended: Could not get leases/,
        ) as string,
        fields: { event: 'burial-failed', lease: 'job' },
      },
    ])
    server.onRequest = () => {}
    await clock.advance(1)
    expect(server.taken()).toEqual(['GET leasecandidates/web-2', 'GET leases/job', 'PUT leases/job'])
    await clock.advance(10_000)
    expect(server.taken()).toEqual([])
  })

  test('is given 2.5 s to be removed', async () => {
    await watching()
    server.onRequest = neverAnswered
    observer?.dead()
    await clock.advance(2500)
    expect(messages().at(-1)).toBe(
      'could not release the lease of web-2, whose process has ended: No answer within 2500 ms',
    )
  })

  test('is tried to be removed by one series of attempts', async () => {
    await watching()
    server.onRequest = refuse('GET', /leasecandidates/, 'InternalError')
    observer?.dead()
    await clock.advance(0)
    observer?.dead()
    await clock.advance(0)
    server.taken()
    await clock.advance(1000)
    expect(server.taken()).toEqual(['GET leasecandidates/web-2'])
  })

  test('is not tried to be removed after the close', async () => {
    const { lock } = await watching()
    server.onRequest = refuse('GET', /leasecandidates/, 'InternalError')
    observer?.dead()
    await clock.advance(0)
    server.taken()
    await lock.close()
    await clock.advance(10_000)
    expect(server.taken()).toEqual([])
  })
})

describe('a lock that is closed', () => {
  test('deletes its candidate, and leaves no watch and no timer', async () => {
    const lock = await watched()
    lock.coordinator.stand(0)
    put({ holderIdentity: 'web-2' })
    await clock.advance(5000)
    server.taken()
    await lock.close()
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1'])
    expect(server.watches).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  test('ends the question who decides, and says nothing about it', async () => {
    server.onRequest = neverAnswered
    const lock = await watched()
    await lock.close()
    await clock.advance(10_000)
    expect(server.taken()).toEqual([])
    expect(lines).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  test('does not ask who decides again, whatever comes', async () => {
    const lock = await watched()
    const [watch] = server.watches
    await lock.close()
    watch?.observer.down(new Error('reset'))
    watch?.observer.up()
    expect(() => lock.watch({ changed: () => {}, up: () => {}, down: () => {} })).toThrow(
      'Could not watch lease ops/job: the lock is closed',
    )
    await clock.advance(0)
    expect(server.taken()).toEqual([])
  })

  test('waits for the question who decides', async () => {
    const answered = Promise.withResolvers<void>()
    server.onRequest = () => answered.promise
    const lock = await watched()
    let isClosed = false
    const closed = lock.close().then(() => (isClosed = true))
    await clock.advance(0)
    expect(isClosed).toBe(false)
    answered.resolve()
    await closed
    expect(clock.pendingTimers).toBe(0)
  })

  test('looks no longer at a preferred candidate', async () => {
    const lock = await watched()
    standing('web-2', { pingTime: '2027' })
    put({ holderIdentity: 'web-1', preferredHolder: 'web-2' })
    await clock.advance(0)
    server.taken()
    await lock.close()
    await clock.advance(10_000)
    expect(server.taken()).toEqual([])
  })
})

test('an option that does not exist is named with the kind of the lock', () => {
  const options = { namespaces: 'ops' }
  expect(() => lockOf(options as object)).toThrow(
    'Unknown option `namespaces` in the options of a CoordinatedLock; did you mean `namespace`?',
  )
})
