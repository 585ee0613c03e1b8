import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import type { ApiRequest } from '../src/client/api-request.ts'
import { CANDIDATES } from '../src/coordinated/candidate-object.ts'
import { OwnCandidate, type OwnCandidateOptions } from '../src/coordinated/own-candidate.ts'
import { type JsonObject, objectAt } from '../src/json-object.ts'
import { ObjectServer, refusalOf } from './support/object-server.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { neverAnswered } from './support/scripted-connection.ts'

/* The LeaseCandidate of one replica, on an API server that the test plays. */

const FACTS = { binaryVersion: '1.36.0', emulationVersion: '1.35.0' }
const OWN = { ...CANDIDATES, namespace: 'ops', name: 'web-1' }
const SPEC = { leaseName: 'job', ...FACTS, strategy: 'OldestEmulationVersion' }
const FIVE_MINUTES = 300_000
const WATCHED_FROM = 1100
const EARLY = '2020-01-01T00:00:00.000000Z'
const PING = '2026-01-01T00:01:00.000000Z'

let clock: VirtualClock
let server: ObjectServer
let lines: Line[]
let holder: string
let missing: number

beforeEach(() => {
  clock = new VirtualClock({ now: 1000 })
  server = new ObjectServer(clock)
  lines = []
  holder = ''
  missing = 0
})

function candidateOf(more: Partial<OwnCandidateOptions> = {}): OwnCandidate {
  return new OwnCandidate({
    client: server.client,
    name: 'web-1',
    namespace: 'ops',
    leaseName: 'job',
    facts: FACTS,
    pod: undefined,
    silenceMs: 4000,
    clock,
    random: () => 0,
    logger: recordingLogger(lines),
    holder: () => holder,
    onMissingApi: () => (missing += 1),
    ...more,
  })
}

/** A candidate that is stored, whose first second is over and which is watched. */
async function settled(): Promise<OwnCandidate> {
  const candidate = candidateOf()
  candidate.stand(0)
  await clock.advance(WATCHED_FROM)
  server.taken()
  return candidate
}

/** Changes the spec of a candidate as somebody else would, and shows it. */
function edit(spec: JsonObject, reference = OWN): void {
  const stored = server.get(reference) ?? {}
  server.put(reference, { ...stored, spec: { ...objectAt(stored, 'spec'), ...spec } })
  server.show(reference)
}

const other = (name: string) => ({ ...OWN, name })
const specOf = (reference = OWN): JsonObject => objectAt(server.get(reference) ?? {}, 'spec')
const now = (): string => new Date(clock.wallTime()).toISOString().replace('Z', '000Z')
const refuse =
  (method: string, reason: Parameters<typeof refusalOf>[1]) =>
  ({ method: requested, target }: ApiRequest): void => {
    if (requested === method) throw refusalOf(target, reason)
  }
const messages = (): readonly string[] => lines.map(({ message }) => message)
const events = (): readonly unknown[] => lines.map(({ fields }) => fields['event'])

describe('a replica that stands for election', () => {
  test('creates its candidate at the time from which it stands, and not before', async () => {
    const candidate = candidateOf()
    candidate.stand(1500)
    await clock.advance(499)
    expect(server.requests).toEqual([])
    await clock.advance(1)
    expect(server.requests).toEqual([
      {
        method: 'POST',
        path: '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates',
        body: {
          apiVersion: 'coordination.k8s.io/v1beta1',
          kind: 'LeaseCandidate',
          metadata: { name: 'web-1' },
          spec: { ...SPEC, renewTime: '2026-01-01T00:00:00.500000Z' },
        },
        target: { ...target('create'), name: 'web-1' },
        signal: expect.any(AbortSignal) as AbortSignal,
      },
    ])
    expect(candidate.stored).toMatchObject({ name: 'web-1', ...SPEC })
    expect(lines).toEqual([])
  })

  test('names its Pod as the owner of its candidate', async () => {
    candidateOf({ pod: { name: 'p', uid: 'u' } }).stand(0)
    await clock.advance(0)
    expect(server.requests[0]?.body).toMatchObject({ metadata: { ownerReferences: [{ name: 'p', uid: 'u' }] } })
  })

  test('says what it stands for again without a request', async () => {
    const candidate = await settled()
    candidate.stand(0)
    await clock.advance(0)
    expect(server.taken()).toEqual([])
  })

  test('needs no request to stand from another time that has passed', async () => {
    const candidate = candidateOf()
    candidate.stand(0)
    await clock.advance(50)
    server.taken()
    candidate.stand(5)
    await clock.advance(49)
    expect(server.taken()).toEqual([])
    await clock.advance(WATCHED_FROM)
    server.taken()
    candidate.stand(6)
    await clock.advance(0)
    expect(server.taken()).toEqual([])
  })

  test('takes over the candidate of an earlier attempt whose answer was lost', async () => {
    server.put(OWN, { spec: { ...SPEC, renewTime: EARLY } })
    const candidate = candidateOf()
    candidate.stand(0)
    await clock.advance(0)
    expect(server.requests.map(({ method, path, target: of }) => ({ method, path, target: of }))).toEqual([
      expect.objectContaining({ method: 'POST' }),
      {
        method: 'GET',
        path: '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates/web-1',
        target: { ...target('get'), name: 'web-1' },
      },
    ])
    expect(candidate.stored?.renewTime).toBe(EARLY)
    expect(lines).toEqual([])
  })

  test('does not take another conflict for an earlier attempt', async () => {
    server.onRequest = refuse('POST', 'Conflict')
    candidateOf().stand(0)
    await clock.advance(0)
    expect(server.taken()).toEqual(['POST ops/leasecandidates'])
    expect(events()).toEqual(['candidate-failed'])
  })

  test('renews every five minutes by a merge patch of the time', async () => {
    await settled()
    await clock.advance(FIVE_MINUTES - WATCHED_FROM - 1)
    expect(server.taken()).toEqual([])
    await clock.advance(1)
    expect(server.requests).toEqual([
      {
        method: 'PATCH',
        path: '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates/web-1',
        body: { spec: { renewTime: '2026-01-01T00:05:00.000000Z' } },
        contentType: 'application/merge-patch+json',
        target: { ...target('patch'), name: 'web-1' },
        signal: expect.any(AbortSignal) as AbortSignal,
      },
    ])
    server.taken()
    await clock.advance(FIVE_MINUTES)
    expect(server.taken()).toEqual(['PATCH leasecandidates/web-1'])
  })

  test('creates its candidate again that is found to be gone when it renews', async () => {
    const candidate = await settled()
    server.remove(OWN)
    await clock.advance(FIVE_MINUTES - WATCHED_FROM)
    expect(server.taken()).toEqual(['PATCH leasecandidates/web-1'])
    expect(candidate.stored).toBeUndefined()
    await clock.advance(1000)
    expect(server.taken()).toEqual(['POST ops/leasecandidates'])
  })

  test('keeps its candidate when a renewal fails for another reason', async () => {
    const candidate = await settled()
    server.onRequest = refuse('PATCH', 'InternalError')
    await clock.advance(FIVE_MINUTES - WATCHED_FROM)
    expect(candidate.stored).toBeDefined()
    server.onRequest = () => {}
    server.taken()
    await clock.advance(999)
    expect(server.taken()).toEqual([])
    await clock.advance(1)
    expect(server.taken()).toEqual(['PATCH leasecandidates/web-1'])
  })

  test('does not take over an answer that is older than what its watch has shown', async () => {
    const candidate = await settled()
    server.onAnswer = (_, answer) => {
      edit({ pingTime: EARLY })
      return answer
    }
    await clock.advance(FIVE_MINUTES - WATCHED_FROM)
    expect(candidate.stored?.pingTime).toBe(EARLY)
  })

  test('takes the answer of a renewal for newer than what its watch shows late', async () => {
    const candidate = await settled()
    await clock.advance(FIVE_MINUTES - WATCHED_FROM)
    const { stored } = candidate
    const version = BigInt(stored?.resourceVersion ?? '')
    server.watches[0]?.observer.changed({ kind: 'absent', version })
    expect(candidate.stored).toBe(stored)
  })

  test.each([[undefined], ['text'], [{ metadata: {} }], [[{ metadata: { resourceVersion: '9' } }]]])(
    'does without an answer that is no object with a version: %j',
    async (answer) => {
      const candidate = await settled()
      const { stored } = candidate
      server.onAnswer = () => answer
      await clock.advance(FIVE_MINUTES - WATCHED_FROM)
      expect(candidate.stored).toBe(stored)
      server.taken()
      await clock.advance(FIVE_MINUTES)
      expect(server.taken()).toEqual(['PATCH leasecandidates/web-1'])
      expect(lines).toEqual([])
    },
  )
})

describe('a candidate that somebody else changes', () => {
  test.each([
    ['binaryVersion', '1.0.0'],
    ['emulationVersion', '1.0.0'],
    ['strategy', 'other'],
  ])('is restored where its %s is edited', async (field, value) => {
    await settled()
    edit({ [field]: value })
    await clock.advance(0)
    expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
      ['PATCH', { spec: { ...FACTS, strategy: 'OldestEmulationVersion', renewTime: now() } }],
    ])
    expect(specOf()).toMatchObject(SPEC)
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'somebody edited the LeaseCandidate of this replica: restored',
        fields: { event: 'candidate-edited', lease: 'job' },
      },
    ])
  })

  test('is deleted and created again where it stands for another lease', async () => {
    await settled()
    edit({ leaseName: 'other' })
    await clock.advance(0)
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1', 'POST ops/leasecandidates'])
    expect(specOf()).toMatchObject(SPEC)
    expect(events()).toEqual(['candidate-edited'])
  })

  test('is created again where it is deleted', async () => {
    await settled()
    server.remove(OWN)
    server.show(OWN)
    await clock.advance(0)
    expect(server.taken()).toEqual(['POST ops/leasecandidates'])
  })

  test('is left as it is where its watch shows an older version', async () => {
    const candidate = await settled()
    const { stored } = candidate
    edit({ pingTime: EARLY })
    const newest = candidate.stored
    expect(newest).not.toEqual(stored)
    for (const version of [newest?.resourceVersion, stored?.resourceVersion])
      server.watches[0]?.observer.changed({ kind: 'absent', version: BigInt(version ?? '') })
    expect(candidate.stored).toBe(newest)
  })
})

describe('a ping of the controller', () => {
  test('is answered at once, with its own time if that is later', async () => {
    const candidate = await settled()
    edit({ pingTime: PING })
    await clock.advance(0)
    expect(server.requests.map(({ method, body }) => [method, body])).toEqual([
      ['PATCH', { spec: { renewTime: PING } }],
      ['GET', undefined],
    ])
    expect(candidate.pings).toEqual({ answered: 1, late: 0 })
    server.taken()
    await clock.advance(60_000)
    expect(server.taken()).toEqual([])
  })

  test('is answered with the time of this replica if that is later', async () => {
    await settled()
    await clock.advance(120_000)
    edit({ pingTime: PING })
    await clock.advance(0)
    expect(specOf()['renewTime']).toBe('2026-01-01T00:02:01.100000Z')
  })

  test.each([
    [5000, { answered: 1, late: 0 }],
    [5001, { answered: 0, late: 1 }],
  ])('that is answered %s ms after it was seen counts as %j', async (afterMs, counted) => {
    const candidate = await settled()
    await clock.advance(60_000)
    clock.stepWallTime(-60_000)
    edit({ pingTime: PING })
    clock.stall(afterMs)
    await clock.advance(0)
    expect(candidate.pings).toEqual(counted)
  })

  test('is late from the time when it was seen first, whatever else changes meanwhile', async () => {
    const candidate = await settled()
    edit({ pingTime: PING })
    clock.stall(5001)
    edit({ other: 'field' })
    await clock.advance(0)
    expect(candidate.pings).toEqual({ answered: 0, late: 1 })
    edit({ pingTime: '2026-01-01T00:02:00.000000Z' })
    await clock.advance(0)
    expect(candidate.pings).toEqual({ answered: 1, late: 1 })
    edit({ pingTime: '2026-01-01T00:03:00.000000Z' })
    clock.stall(5001)
    await clock.advance(0)
    expect(candidate.pings).toEqual({ answered: 1, late: 2 })
  })

  test('counts from when it was seen, and not from an earlier ping that was answered', async () => {
    const candidate = await settled()
    edit({ pingTime: PING })
    await clock.advance(60_000)
    edit({ pingTime: PING, renewTime: PING })
    await clock.advance(60_000)
    edit({ pingTime: '2026-01-01T00:09:00.000000Z' })
    await clock.advance(0)
    expect(candidate.pings).toEqual({ answered: 2, late: 0 })
  })

  test('does not count before it is answered', async () => {
    const candidate = await settled()
    server.onRequest = refuse('PATCH', 'InternalError')
    edit({ pingTime: PING })
    await clock.advance(0)
    expect(candidate.pings).toEqual({ answered: 0, late: 0 })
    expect(server.taken()).toEqual(['PATCH leasecandidates/web-1'])
  })

  test('has this replica look for others that do not answer theirs', async () => {
    const candidate = await settled()
    server.put(other('dead'), { spec: { ...SPEC, pingTime: PING, renewTime: EARLY } })
    edit({ pingTime: PING })
    await clock.advance(14_999)
    edit({ pingTime: '2026-01-01T00:02:00.000000Z' })
    await clock.advance(0)
    expect(server.get(other('dead'))).toBeDefined()
    await clock.advance(1)
    edit({ pingTime: '2026-01-01T00:03:00.000000Z' })
    await clock.advance(0)
    expect(server.get(other('dead'))).toBeUndefined()
    expect(candidate.versionsOf('dead')).toMatchObject(FACTS)
    expect(candidate.versionsOf('nobody')).toBeUndefined()
  })

  test('is answered also where the others cannot be listed, which one line says', async () => {
    const candidate = await settled()
    const err = new Error('no list')
    server.onRequest = ({ target: { verb } }) => {
      if (verb === 'list') throw err
    }
    edit({ pingTime: PING })
    await clock.advance(0)
    expect(candidate.pings).toEqual({ answered: 1, late: 0 })
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'could not look for candidates that do not answer: no list',
        fields: { event: 'candidates-unseen', lease: 'job', err },
      },
    ])
  })
})

describe('a replica that stands for election no longer', () => {
  test('deletes its candidate', async () => {
    const candidate = await settled()
    candidate.stand(undefined)
    await clock.advance(0)
    expect(server.requests).toEqual([
      {
        method: 'DELETE',
        path: '/apis/coordination.k8s.io/v1beta1/namespaces/ops/leasecandidates/web-1',
        target: { ...target('delete'), name: 'web-1' },
        signal: expect.any(AbortSignal) as AbortSignal,
      },
    ])
    expect(candidate.stored).toBeUndefined()
    expect(clock.pendingTimers).toBe(0)
  })

  test('has nothing to delete before it has created one', async () => {
    const candidate = candidateOf()
    candidate.stand(5000)
    await clock.advance(0)
    candidate.stand(undefined)
    await clock.advance(60_000)
    expect(server.requests).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  test('takes a candidate that is gone already for deleted', async () => {
    const candidate = await settled()
    server.remove(OWN)
    candidate.stand(undefined)
    await clock.advance(10_000)
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1'])
    expect(candidate.stored).toBeUndefined()
    expect(lines).toEqual([])
  })

  test('tries again a second after a deletion has failed', async () => {
    const candidate = await settled()
    server.onRequest = refuse('DELETE', 'InternalError')
    candidate.stand(undefined)
    await clock.advance(500)
    candidate.stand(undefined)
    await clock.advance(499)
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1'])
    expect(candidate.stored).toBeDefined()
    server.onRequest = () => {}
    await clock.advance(1)
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1'])
    expect(candidate.stored).toBeUndefined()
  })

  test('stands again when it is asked to', async () => {
    const candidate = await settled()
    candidate.stand(undefined)
    await clock.advance(0)
    candidate.stand(0)
    await clock.advance(0)
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1', 'POST ops/leasecandidates'])
  })
})

describe('a candidate that is withdrawn', () => {
  test('is deleted at once, and comes back when the replica stands from another time', async () => {
    const candidate = await settled()
    const { signal } = new AbortController()
    await candidate.withdraw(signal)
    expect(server.requests.map((request) => [request.method, request.signal])).toEqual([['DELETE', signal]])
    await clock.advance(FIVE_MINUTES * 2)
    server.taken()
    expect(server.get(OWN)).toBeUndefined()
    candidate.stand(0)
    await clock.advance(0)
    expect(server.taken()).toEqual(['POST ops/leasecandidates'])
  })

  test('needs no request if there is none', async () => {
    const candidate = candidateOf()
    await candidate.withdraw(new AbortController().signal)
    expect(server.requests).toEqual([])
  })

  test('is deleted after the request that is under way', async () => {
    const created = Promise.withResolvers<void>()
    server.onRequest = () => created.promise
    const candidate = candidateOf()
    candidate.stand(0)
    const withdrawn = candidate.withdraw(new AbortController().signal)
    await clock.runAllMicrotasks()
    expect(server.taken()).toEqual(['POST ops/leasecandidates'])
    created.resolve()
    await withdrawn
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1'])
    await clock.advance(FIVE_MINUTES)
    expect(server.get(OWN)).toBeUndefined()
  })

  test('that cannot be deleted is only logged', async () => {
    const candidate = await settled()
    server.onRequest = refuse('DELETE', 'InternalError')
    await candidate.withdraw(new AbortController().signal)
    expect(lines).toMatchObject([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^could not delete the LeaseCandidate of this replica: Could not delete /,
        ) as string,
        fields: { event: 'candidate-left', lease: 'job' },
      },
    ])
  })
})

describe('a candidate that is closed', () => {
  test('is deleted and watched no longer, and ignores what comes later', async () => {
    const candidate = await settled()
    const [watch] = server.watches
    await candidate.close()
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1'])
    expect(server.watches).toEqual([])
    expect(clock.pendingTimers).toBe(0)
    candidate.stand(5)
    watch?.observer.changed({ kind: 'present', version: 100n, object: { spec: SPEC } })
    watch?.observer.up()
    watch?.observer.down(new Error('over'))
    await candidate.close()
    await clock.advance(FIVE_MINUTES * 2)
    expect(server.taken()).toEqual([])
    expect(candidate.stored).toBeUndefined()
  })

  test('gives up its deletion after 2.5 s', async () => {
    const candidate = await settled()
    server.onRequest = neverAnswered
    const closed = candidate.close()
    await clock.advance(2499)
    expect(lines).toEqual([])
    await clock.advance(1)
    await closed
    await candidate.close()
    expect(server.taken()).toEqual(['DELETE leasecandidates/web-1'])
    expect(messages()).toEqual(['could not delete the LeaseCandidate of this replica: No answer within 2500 ms'])
  })

  test('begins nothing after the request that was under way', async () => {
    const created = Promise.withResolvers<void>()
    server.onRequest = ({ method }) => (method === 'POST' ? created.promise : undefined)
    const candidate = candidateOf()
    candidate.stand(0)
    const closed = candidate.close()
    created.resolve()
    await closed
    expect(server.taken()).toEqual(['POST ops/leasecandidates', 'DELETE leasecandidates/web-1'])
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('a candidate that cannot be written', () => {
  test.each([
    ['InternalError', 1000],
    ['Conflict', 1000],
    ['Forbidden', 15_000],
    ['Invalid', 15_000],
  ] as const)('for %s is tried again after %s ms', async (reason, delayMs) => {
    server.onRequest = refuse('POST', reason)
    candidateOf().stand(0)
    await clock.advance(delayMs - 1)
    expect(server.taken()).toHaveLength(1)
    await clock.advance(1)
    expect(server.taken()).toHaveLength(1)
  })

  test('is tried again later by up to a fifth, as chance has it', async () => {
    server.onRequest = refuse('POST', 'InternalError')
    candidateOf({ random: () => 0.5 }).stand(0)
    await clock.advance(1099)
    expect(server.taken()).toHaveLength(1)
    await clock.advance(1)
    expect(server.taken()).toHaveLength(1)
  })

  test('is logged when the problem begins, when it changes, and when it comes back', async () => {
    const failing = (message: string | undefined) => () => {
      if (message !== undefined) throw new Error(message)
    }
    server.onRequest = failing('one')
    candidateOf().stand(0)
    await clock.advance(1000)
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'could not write the LeaseCandidate of this replica: one',
        fields: { event: 'candidate-failed', lease: 'job', err: expect.any(Error) as Error },
      },
    ])
    server.onRequest = failing('two')
    await clock.advance(1000)
    server.onRequest = failing(undefined)
    await clock.advance(1000)
    server.remove(OWN)
    server.show(OWN)
    server.onRequest = failing('two')
    await clock.advance(2000)
    const could = (problem: string) => `could not write the LeaseCandidate of this replica: ${problem}`
    expect(messages()).toEqual(['one', 'two', 'two'].map(could))
  })

  test('gives up an attempt after 2.5 s', async () => {
    server.onRequest = neverAnswered
    candidateOf().stand(0)
    await clock.advance(2499)
    expect(lines).toEqual([])
    await clock.advance(1)
    expect(messages()).toEqual(['could not write the LeaseCandidate of this replica: No answer within 2500 ms'])
  })

  test('where the API server does not serve LeaseCandidates is a reason to ask who decides', async () => {
    server.onRequest = refuse('POST', 'NotFound')
    candidateOf().stand(0)
    await clock.advance(0)
    expect(missing).toBe(1)
  })

  test('where the API server serves LeaseCandidates no longer is a reason as well', async () => {
    candidateOf().stand(0)
    await clock.advance(0)
    server.onRequest = refuse('GET', 'NotFound')
    await clock.advance(100)
    expect(missing).toBe(1)
  })

  test('for another reason is no reason to ask', async () => {
    server.onRequest = refuse('POST', 'Forbidden')
    candidateOf().stand(0)
    await clock.advance(0)
    server.onRequest = () => {
      throw new Error('not-found')
    }
    await clock.advance(15_000)
    expect(missing).toBe(0)
  })
})

describe('equal candidates of one second', () => {
  const equal = { spec: { ...SPEC, renewTime: EARLY } }

  test('are looked for 100 ms after the creation, and again when the second is over', async () => {
    candidateOf().stand(0)
    await clock.advance(99)
    expect(server.taken()).toEqual(['POST ops/leasecandidates'])
    expect(server.watches).toEqual([])
    await clock.advance(1)
    expect(server.taken()).toEqual(['GET ops/leasecandidates'])
    expect(server.watches).toMatchObject([{ reference: OWN, silenceMs: 4000 }])
    await clock.advance(999)
    expect(server.taken()).toEqual([])
    await clock.advance(1)
    expect(server.taken()).toEqual(['GET ops/leasecandidates'])
    await clock.advance(60_000)
    expect(server.taken()).toEqual([])
    expect(server.watches).toHaveLength(1)
  })

  test('make way for the one with the smaller name, in another second', async () => {
    const candidate = candidateOf()
    candidate.stand(0)
    await clock.advance(0)
    const before = candidate.stored?.createdAt
    server.put(other('web-0'), equal)
    server.taken()
    await clock.advance(100)
    expect(server.taken()).toEqual(['GET ops/leasecandidates', 'DELETE leasecandidates/web-1'])
    await clock.advance(1099)
    expect(server.taken()).toEqual([])
    await clock.advance(1)
    expect(server.taken()).toEqual(['POST ops/leasecandidates'])
    expect(candidate.stored?.createdAt).not.toBe(before)
    await clock.advance(60_000)
    expect(server.taken()).toEqual(['GET ops/leasecandidates', 'GET ops/leasecandidates'])
  })

  test('stay as they are if the other one has the greater name, and make way if that one stays', async () => {
    candidateOf().stand(0)
    await clock.advance(0)
    server.put(other('web-2'), equal)
    server.taken()
    await clock.advance(100)
    expect(server.taken()).toEqual(['GET ops/leasecandidates'])
    await clock.advance(1000)
    expect(server.taken()).toEqual(['GET ops/leasecandidates', 'DELETE leasecandidates/web-1'])
  })

  test('that come late in the second have a second to make way', async () => {
    candidateOf().stand(0)
    await clock.advance(900)
    server.put(other('web-2'), { ...equal, metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } })
    server.taken()
    await clock.advance(200)
    expect(server.taken()).toEqual(['GET ops/leasecandidates'])
    await clock.advance(1099)
    expect(server.taken()).toEqual([])
    server.remove(other('web-2'))
    await clock.advance(1)
    expect(server.taken()).toEqual(['GET ops/leasecandidates'])
    await clock.advance(60_000)
    expect(server.taken()).toEqual([])
  })

  test('make way for the holder of the lease', async () => {
    holder = 'web-2'
    candidateOf().stand(0)
    await clock.advance(0)
    server.put(other('web-2'), equal)
    server.taken()
    await clock.advance(100)
    expect(server.taken()).toEqual(['GET ops/leasecandidates', 'DELETE leasecandidates/web-1'])
  })

  test('that stand for another lease do not count', async () => {
    candidateOf().stand(0)
    await clock.advance(0)
    server.put(other('web-0'), { spec: { ...equal.spec, leaseName: 'other' } })
    server.taken()
    await clock.advance(10_000)
    expect(server.taken()).toEqual(['GET ops/leasecandidates', 'GET ops/leasecandidates'])
  })

  test('do not matter to a replica whose candidate was deleted while it looked', async () => {
    candidateOf().stand(0)
    await clock.advance(0)
    server.put(other('web-0'), equal)
    server.onAnswer = ({ target: { verb } }, answer) => {
      if (verb === 'list') {
        server.remove(OWN)
        server.show(OWN)
      }
      return answer
    }
    server.taken()
    await clock.advance(100)
    expect(server.taken()).toEqual(['GET ops/leasecandidates', 'POST ops/leasecandidates'])
  })
})

test('a candidate sends one request at a time', async () => {
  const candidate = await settled()
  const answered = Promise.withResolvers<void>()
  server.onRequest = () => answered.promise
  edit({ pingTime: PING })
  await clock.advance(0)
  edit({ pingTime: PING, emulationVersion: '1.0.0' })
  candidate.stand(5)
  await clock.advance(1000)
  expect(server.taken()).toEqual(['PATCH leasecandidates/web-1'])
  answered.resolve()
  await clock.advance(0)
  expect(server.taken()).toEqual(['GET ops/leasecandidates', 'PATCH leasecandidates/web-1'])
  expect(specOf()).toMatchObject(SPEC)
})

function target(verb: string) {
  return { verb, group: 'coordination.k8s.io', resource: 'leasecandidates', namespace: 'ops' }
}
