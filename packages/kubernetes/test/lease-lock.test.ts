import { OptionsError } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { describe, expect, test, vi } from 'vitest'
import { CoordinatedLock } from '../src/coordinated/coordinated-lock.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { LeaseLock } from '../src/locks/lease/lease-lock.ts'
import type { LeaseLockOptions } from '../src/locks/lease/lease-lock-options.ts'
import { FakeLeaseClient } from './support/fake-lease-client.ts'
import { record } from './support/lease-record.ts'
import { leaseObject } from './support/lease-server.ts'
import { answer, kubeConfigFor, LoopbackServer } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'

const options = { kubeConfig: kubeConfigFor('http://127.0.0.1:1'), name: 'janitor', namespace: 'ops' }
const unaborted = { signal: new AbortController().signal }

test('a LeaseLock ends its own watches when it is closed, each once', async () => {
  const fake = new FakeLeaseClient()
  const lock = new LeaseLock({ client: fake as unknown as LeaseClient, name: 'janitor', namespace: 'ops' })
  const observer = { changed: () => {}, up: () => {}, down: () => {} }
  const first = lock.watch(observer)
  lock.watch(observer)
  await first.close()
  expect(fake.closed).toEqual(['leases'])
  await lock.close()
  expect(fake.closed).toEqual(['leases', 'leases'])
})

const coordinated = () =>
  new CoordinatedLock({
    ...options,
    identity: 'web-1',
    facts: { binaryVersion: '1.36.0', emulationVersion: '1.36.0' },
    leaseDurationMs: 15_000,
    coordination: 'auto',
    clock: new ManualClock(),
    random: () => 0,
    logger: silentLogger,
  })

test.each([
  ['LeaseLock', () => new LeaseLock(options)],
  ['CoordinatedLock', coordinated],
])('a %s is closed when the connections of its own are', async (_, make) => {
  const closing = Promise.withResolvers<void>()
  using closed = vi.spyOn(LeaseClient.prototype, 'close').mockReturnValueOnce(closing.promise)
  const lock = make()
  let isClosed = false
  const waiting = lock.close().then(() => (isClosed = true))
  await new Promise(setImmediate)
  expect([closed.mock.calls.length, isClosed]).toEqual([1, false])
  closing.resolve()
  await waiting
})

test('a LeaseLock is closed when its watches are', async () => {
  const closing = Promise.withResolvers<void>()
  const client = { watch: () => ({ close: () => closing.promise }) } as unknown as LeaseClient
  const lock = new LeaseLock({ client, name: 'janitor', namespace: 'ops' })
  lock.watch({ changed: () => {}, up: () => {}, down: () => {} })
  let isClosed = false
  const waiting = lock.close().then(() => (isClosed = true))
  await new Promise(setImmediate)
  expect(isClosed).toBe(false)
  closing.resolve()
  await waiting
})

describe('the options of a LeaseLock', () => {
  test.each([
    ['name', ''],
    ['name', 'Upper'],
    ['name', 'a/b'],
    ['name', '-a'],
    ['name', 'a..b'],
    ['name', 'a'.repeat(254)],
    ['namespace', 'a.b'],
    ['namespace', ''],
    ['namespace', '../kube-system'],
    ['namespace', 'a'.repeat(64)],
  ])('refuse the %s `%s`, and say so', (key, value) => {
    const build = () => new LeaseLock({ ...options, [key]: value })
    expect(build).toThrow(OptionsError)
    expect(build).toThrow(`Expected \`${key}\` to be an RFC 1123`)
    expect(build).toThrow(`got \`${value.slice(0, 60)}`)
  })

  test.each<Partial<LeaseLockOptions>>([
    { name: 'a.b-c.9' },
    { name: 'a'.repeat(253) },
    { namespace: 'a'.repeat(63) },
    { annotations: { 'example.com/note': 'x' } },
  ])('take %j', (change) => {
    expect(() => new LeaseLock({ ...options, ...change })).not.toThrow()
  })

  test('refuse an unknown key and name the nearest known key', () => {
    const mistyped = { ...options, namespaces: 'ops' }
    expect(() => new LeaseLock(mistyped)).toThrow(
      'Unknown option `namespaces` in the options of a LeaseLock; did you mean `namespace`?',
    )
    const ofClient = { kubeConfig: options.kubeConfig, clocks: 1 }
    expect(() => new LeaseClient(ofClient)).toThrow('in the options of a LeaseClient; did you mean `clock`?')
  })

  test('refuse annotations under the prefix of Tenure', () => {
    expect(() => new LeaseLock({ ...options, annotations: { 'tenure.dev/offer': 'x' } })).toThrow(
      new OptionsError('Expected no key of `annotations` to start with `tenure.dev/`, got `tenure.dev/offer` (string)'),
    )
  })

  test.each([
    [{ '': 'x' }, 'Expected the keys of `labels`'],
    [{ 'a/b/c': 'x' }, 'got `a/b/c`'],
    [{ 'UPPER.example/a': 'x' }, 'got `UPPER.example/a`'],
    [{ ['a'.repeat(64)]: 'x' }, 'at most 63'],
    [{ team: 'of two' }, "Expected `labels['team']`"],
    [{ team: 7 as unknown as string }, 'got `7`'],
    ['team' as unknown as Record<string, string>, 'Expected `labels` to be an object with string values'],
  ])('refuse the labels %j', (labels, message) => {
    expect(() => new LeaseLock({ ...options, labels })).toThrow(message)
  })

  test('take labels with and without a prefix, also empty ones', () => {
    const labels = { 'app.kubernetes.io/name': 'Janitor_1.2', team: '' }
    expect(() => new LeaseLock({ ...options, labels })).not.toThrow()
  })

  test('refuse to do without a way to the API server', () => {
    expect(() => new LeaseLock({ name: 'janitor', namespace: 'ops' })).toThrow('either `client` or `kubeConfig`')
  })

  test.each([0, -1, Number.NaN, Infinity])('refuse a silence of %d ms', (silenceMs) => {
    expect(() => new LeaseLock({ ...options, silenceMs })).toThrow('Expected `silenceMs` to be a positive number')
  })
})

describe('a LeaseLock', () => {
  test('says which lease it is about', () => {
    expect(new LeaseLock(options).description).toBe('lease ops/janitor')
  })

  test('takes a lease that is not found for absent', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 404, { reason: 'NotFound' }))
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig() })
    expect(await lock.get(unaborted)).toEqual({ kind: 'absent' })
    await lock.close()
    // The connections are its own.
    await server.untilDeserted()
  })

  test('refuses to read a lease whose version is not a decimal number', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, { metadata: {} }))
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig() })
    await expect(lock.get(unaborted)).rejects.toMatchObject({
      failure: 'rejected',
      message: 'Could not read lease ops/janitor: its resource version is not a decimal number',
    })
    await lock.close()
  })

  test('has an unknown outcome when a write was accepted with an answer that has no version', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, { metadata: {} }))
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig() })
    await expect(lock.create(record, unaborted)).rejects.toMatchObject({ failure: 'unknown-outcome' })
    await lock.close()
  })

  test('refuses an update on a base that another lock made, and sends nothing', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig() })
    const base = { kind: 'present', version: 7n, record, deleting: false } as const
    await expect(lock.update(base, record, unaborted)).rejects.toMatchObject({
      failure: 'rejected',
      message: 'Could not update lease ops/janitor: its base was not read from this kind of lock',
    })
    expect(server.requests).toHaveLength(0)
    await lock.close()
  })

  test('writes without its own annotations when the server finds the lease invalid with them', async () => {
    await using server = await LoopbackServer.start((message, response) => {
      const { body } = server.requests.at(-1) ?? { body: '' }
      if (body.includes('tenure.dev/')) answer(response, 422, { kind: 'Status', reason: 'Invalid' })
      else answer(response, 200, leaseObject(message.method === 'POST' ? 7 : 8, 'a'))
    })
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig() })
    const noted = { ...record, annotations: { 'tenure.dev/standbys': '{}' } }
    const created = await lock.create(noted, unaborted)
    expect((await lock.update(created, noted, unaborted)).version).toBe(8n)
    expect(server.requests).toHaveLength(4)
    await lock.close()
  })

  test.each([409, 500])('writes once when the server answers %d', async (status) => {
    await using server = await LoopbackServer.start((_, response) => answer(response, status, { kind: 'Status' }))
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig() })
    const noted = { ...record, annotations: { 'tenure.dev/standbys': '{}' } }
    await expect(lock.create(noted, unaborted)).rejects.toMatchObject({ statusCode: status })
    expect(server.requests).toHaveLength(1)
    await lock.close()
  })

  test('reports a lease that is invalid without its own annotations, too', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 422, { reason: 'Invalid' }))
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig() })
    const noted = { ...record, annotations: { 'tenure.dev/standbys': '{}' } }
    await expect(lock.create(noted, unaborted)).rejects.toMatchObject({ failure: 'rejected' })
    await expect(lock.create(record, unaborted)).rejects.toMatchObject({ failure: 'rejected' })
    expect(server.requests).toHaveLength(3)
    await lock.close()
  })

  test('creates by POST and updates by PUT with the version of the base, and needs no read for it', async () => {
    await using server = await LoopbackServer.start((message, response) => {
      answer(response, 200, leaseObject(message.method === 'POST' ? 7 : 8, 'a'))
    })
    const lock = new LeaseLock({ ...options, kubeConfig: server.kubeConfig(), labels: { app: 'janitor' } })
    const created = await lock.create(record, unaborted)
    const updated = await lock.update(created, record, unaborted)
    expect([created.version, updated.version]).toEqual([7n, 8n])
    const leases = '/apis/coordination.k8s.io/v1/namespaces/ops/leases'
    expect(server.requests.map(({ message }) => `${message.method} ${message.url}`)).toEqual([
      `POST ${leases}`,
      `PUT ${leases}/janitor`,
    ])
    expect(JSON.parse(server.requests[1]?.body ?? '')).toMatchObject({
      metadata: { name: 'janitor', namespace: 'ops', resourceVersion: '7', labels: { app: 'janitor' } },
      spec: { renewTime: '2026-01-02T03:04:06.000002Z' },
    })
    await lock.close()
  })
})
