import {
  type Cluster,
  CoordinationV1Api,
  CoreV1Api,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
} from '@kubernetes/client-node'
import { LeadershipEndedError, WriteGateClosedError } from '@tenure/core'
import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { gated } from '../src/gate/gated.ts'

import { answer, LoopbackServer } from './support/loopback-server.ts'

/** A term whose gate is closed by hand. */
function openTerm() {
  const gate = new AbortController()
  let held = true
  return {
    epoch: 42n,
    isHeld: () => held,
    gateSignal: gate.signal,
    close: () => gate.abort(new LeadershipEndedError('superseded', 42n)),
    /** The clock has passed the deadline but the timer behind the signal has not fired yet. */
    runOut: () => void (held = false),
  }
}

/** client-node speaks plain HTTP only where TLS is not verified anyway. */
function kubeConfigOf(server: LoopbackServer): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: server.url, skipTLSVerify: true }, { name: 'u', token: 't' })
  return kubeConfig
}

const lease = { metadata: { name: 'x', namespace: 'ops' }, spec: {} }

async function refusalOf(promise: Promise<unknown>): Promise<WriteGateClosedError> {
  const [outcome] = await Promise.allSettled([promise])
  if (outcome.status === 'rejected' && outcome.reason instanceof WriteGateClosedError) return outcome.reason
  throw new Error(`Expected a WriteGateClosedError, got ${outcome.status}`, {
    cause: outcome.status === 'rejected' ? outcome.reason : undefined,
  })
}

describe('a gated client, while the term holds its lease', () => {
  test('writes and reads as it would without the gate, with the credentials of the kubeconfig', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, { metadata: { name: 'x' } }))
    const client = gated(openTerm(), kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    const created = await client.createNamespacedLease({ namespace: 'ops', body: lease })
    expect(created.metadata?.name).toBe('x')
    await client.readNamespacedLease({ name: 'x', namespace: 'ops' })
    expect(server.requests.map(({ message }) => message.method)).toEqual(['POST', 'GET'])
    expect(server.requests[0]?.message.headers.authorization).toBe('Bearer t')
  })

  test('leaves nothing on the signal of the gate once a write is answered', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    await client.createNamespacedLease({ namespace: 'ops', body: lease })
    const listeners = getEventListeners(term.gateSignal, 'abort').length
    for (let write = 0; write < 5; write++) await client.createNamespacedLease({ namespace: 'ops', body: lease })
    expect(getEventListeners(term.gateSignal, 'abort')).toHaveLength(listeners)
  })

  test('shares connections among its requests', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const view = gated(openTerm(), kubeConfigOf(server))
    const [leases, core] = [view.makeApiClient(CoordinationV1Api), view.makeApiClient(CoreV1Api)]
    for (let round = 0; round < 5; round++) {
      await leases.createNamespacedLease({ namespace: 'ops', body: lease })
      await leases.readNamespacedLease({ name: 'x', namespace: 'ops' })
      await core.createNamespacedConfigMap({ namespace: 'ops', body: {} })
    }
    expect(server.connections.length).toBeLessThanOrEqual(2)
  })
})

describe('a gated client of a kubeconfig without TLS options', () => {
  const cluster = { name: 'c' } as Cluster

  async function reading(server: LoopbackServer): Promise<unknown> {
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromClusterAndUser({ ...cluster, server: server.url }, { name: 'u', token: 't' })
    const term = openTerm()
    onTestFinished(term.close)
    const client = gated(term, kubeConfig).makeApiClient(CoordinationV1Api)
    return client.readNamespacedLease({ name: 'x', namespace: 'ops' })
  }

  test('checks the certificate of the server, unless Node checks none', async () => {
    await using server = await LoopbackServer.start((_, response) => {
      answer(response, 200, { metadata: { name: 'x' } })
    }, 'https')
    await expect(reading(server)).rejects.toMatchObject({ cause: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' } })
    expect(server.requests).toHaveLength(0)
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await reading(server)).toMatchObject({ metadata: { name: 'x' } })
  })
})

describe('a gated client, when the gate is closed', () => {
  test.each([
    ['POST', (client: CoreV1Api) => client.createNamespacedConfigMap({ namespace: 'ops', body: {} })],
    ['PUT', (client: CoreV1Api) => client.replaceNamespacedConfigMap({ name: 'x', namespace: 'ops', body: {} })],
    ['PATCH', (client: CoreV1Api) => client.patchNamespacedConfigMap({ name: 'x', namespace: 'ops', body: {} })],
    ['DELETE', (client: CoreV1Api) => client.deleteNamespacedConfigMap({ name: 'x', namespace: 'ops' })],
  ])('refuses a %s before a byte of it is sent', async (method, write) => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoreV1Api)
    term.close()
    const refusal = await refusalOf(write(client))
    expect(refusal).toMatchObject({ code: 'WRITE_GATE_CLOSED', epoch: 42n, method, outcome: 'not-sent' })
    expect(refusal.cause).toMatchObject({ code: 'LEADERSHIP_ENDED', reason: 'superseded' })
    expect(server.connections).toHaveLength(0)
  })

  test('still reads', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, { metadata: { name: 'x' } }))
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    term.close()
    expect((await client.readNamespacedLease({ name: 'x', namespace: 'ops' })).metadata?.name).toBe('x')
  })

  test('refuses writes of the generic object client too', async () => {
    await using server = await LoopbackServer.start((_, response) => {
      answer(response, 200, {
        kind: 'APIResourceList',
        resources: [{ kind: 'ConfigMap', name: 'configmaps', namespaced: true }],
      })
    })
    const term = openTerm()
    const client = KubernetesObjectApi.makeApiClient(gated(term, kubeConfigOf(server)))
    term.close()
    await refusalOf(client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }))
    expect(server.requests.every(({ message }) => message.method === 'GET')).toBe(true)
  })

  test('refuses to run a command in a container', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    const exec = new Exec(gated(term, kubeConfigOf(server)))
    term.close()
    await refusalOf(exec.exec('ops', 'pod', 'container', ['true'], null, null, null, false))
    expect(server.connections).toHaveLength(0)
  })

  test('tells the listener of every refusal', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    const refusals: WriteGateClosedError[] = []
    const onRefusal = (refusal: WriteGateClosedError) => void refusals.push(refusal)
    const client = gated(term, kubeConfigOf(server), { onRefusal }).makeApiClient(CoordinationV1Api)
    term.close()
    const refusal = await refusalOf(client.createNamespacedLease({ namespace: 'ops', body: lease }))
    expect(refusals).toEqual([refusal])
  })
})

describe('a gated client, when the gate closes', () => {
  test('leaves no connection', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    await client.createNamespacedLease({ namespace: 'ops', body: lease })
    expect(server.openConnections).toBe(1)
    term.close()
    await server.untilDeserted()
    // Well before idle connections time out by themselves.
  }, 2000)

  test('keeps no connection for later reads', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, { metadata: { name: 'x' } }))
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    term.close()
    for (let read = 0; read < 6; read++) await client.readNamespacedLease({ name: 'x', namespace: 'ops' })
    expect(server.connections).toHaveLength(6)
  })

  test('refuses connections under the name that only JavaScript can call, too', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    const view = gated(term, kubeConfigOf(server))
    term.close()
    const applied = Promise.resolve(Reflect.apply(Reflect.get(view, 'applyOptions'), view, [{}]))
    expect((await refusalOf(applied)).method).toBe('CONNECT')
  })

  test('lets a read under way come to its end', async () => {
    let reply = () => {}
    await using server = await LoopbackServer.start((_, response) => {
      reply = () => answer(response, 200, { metadata: { name: 'x' } })
    })
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    const reading = client.readNamespacedLease({ name: 'x', namespace: 'ops' })
    await server.untilRequests(1)
    term.close()
    reply()
    expect((await reading).metadata?.name).toBe('x')
    await server.untilDeserted()
  })
})

describe('a gated write', () => {
  test('is refused by the clock, before the signal has aborted', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    term.runOut()
    expect((await refusalOf(client.createNamespacedLease({ namespace: 'ops', body: lease }))).outcome).toBe('not-sent')
    expect(server.connections).toHaveLength(0)
  })

  test('is refused at the last moment when the lease ran out while the connection was being made', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    let asked = 0
    const isHeld = () => ++asked === 1
    const client = gated({ ...term, isHeld }, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    const refusal = await refusalOf(client.createNamespacedLease({ namespace: 'ops', body: lease }))
    expect(refusal.outcome).toBe('not-sent')
    expect(asked).toBe(2)
    expect(server.requests).toHaveLength(0)
  })

  test('is aborted under way when the gate closes, and may have taken effect', async () => {
    await using server = await LoopbackServer.start(() => {})
    const term = openTerm()
    const client = gated(term, kubeConfigOf(server)).makeApiClient(CoordinationV1Api)
    const writing = refusalOf(client.createNamespacedLease({ namespace: 'ops', body: lease }))
    await server.untilRequests(1)
    term.close()
    const refusal = await writing
    expect(refusal.outcome).toBe('unknown')
    expect(refusal.message).toContain('may have taken effect')
    await server.untilDeserted()
  })

  test('counts as one refusal when the gate closes at the moment of the last check', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 200, {}))
    const term = openTerm()
    let asked = 0
    const isHeld = () => {
      asked += 1
      if (asked > 1) term.close()
      return asked === 1
    }
    const refusals: WriteGateClosedError[] = []
    const onRefusal = (refusal: WriteGateClosedError) => void refusals.push(refusal)
    const client = gated({ ...term, isHeld }, kubeConfigOf(server), { onRefusal }).makeApiClient(CoordinationV1Api)
    const refusal = await refusalOf(client.createNamespacedLease({ namespace: 'ops', body: lease }))
    expect(refusals).toEqual([refusal])
    expect(server.requests).toHaveLength(0)
  })

  test('that is answered before the gate closes stands', async () => {
    await using server = await LoopbackServer.start((_, response) => answer(response, 201, {}))
    const term = openTerm()
    const refusals: WriteGateClosedError[] = []
    const onRefusal = (refusal: WriteGateClosedError) => void refusals.push(refusal)
    const client = gated(term, kubeConfigOf(server), { onRefusal }).makeApiClient(CoordinationV1Api)
    await client.createNamespacedLease({ namespace: 'ops', body: lease })
    term.close()
    expect(refusals).toEqual([])
  })
})
