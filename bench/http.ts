import { parseArgs } from 'node:util'
import { KubeConfig } from '@kubernetes/client-node'
import { startControlPlane } from '@tenure/test-control-plane'
import { TcpProxy } from '../test/scenarios/tcp-proxy.ts'
import { percentile, SUMMARY_HEAD, summary, writeFigures } from './figures.ts'
import { type Client, ownClient, undiciClient } from './http/clients.ts'

/*
 * The HTTP clients that lease requests could use: the transport of `@tenure/kubernetes` on `node:https`, and the undici of client-node
 * with HTTP/2, as client-node configures it, and with HTTP/1.1. On a real API server, interleaved:
 *
 * - `handover`: release, watch event, acquire, answer
 * - `update`: one update of a lease
 * - `recovery`: the connection goes silent, an update times out after a second; from there to the answer to the next update that is
 *   answered. Each attempt takes up to a second, and there are at most 5.
 */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '300' }, json: { type: 'string' } } })
const rounds = Number(values.rounds)
const WARM_UP = 30
const RECOVERIES = 5
const ATTEMPTS = 5
const ATTEMPT_MS = 1000
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

const CLIENTS: Readonly<Record<string, (kubeConfig: KubeConfig) => Promise<Client>>> = {
  transport: ownClient,
  'undici h2': (kubeConfig) => undiciClient(kubeConfig, {}),
  'undici h1': (kubeConfig) => undiciClient(kubeConfig, { allowH2: false }),
}

/** A Lease as JSON. */
interface Lease {
  readonly metadata: { readonly resourceVersion?: string; readonly name: string }
  readonly spec: { readonly holderIdentity: string }
}

type Samples = Record<string, number[]>

const controlPlane = await startControlPlane({ durable: true })
try {
  await run()
} finally {
  await controlPlane.stop()
}

async function run(): Promise<void> {
  const samples: Samples = {}
  await measureHandovers(samples)
  for (const name of Object.keys(CLIENTS)) samples[`${name} recovery`] = await measureRecoveries(name)
  console.log(SUMMARY_HEAD)
  for (const [name, durations] of Object.entries(samples)) console.log(summary(name, durations))
  const figures = Object.entries(samples).map(([name, durations]) => [
    `http.${name.replaceAll(' ', '_')}_p50_ms`,
    percentile(durations, 0.5),
  ])
  await writeFigures(values.json, Object.fromEntries(figures))
}

async function measureHandovers(samples: Samples): Promise<void> {
  const kubeConfig = kubeConfigFor(controlPlane.url)
  const pairs = await Promise.all(
    Object.entries(CLIENTS).map(
      async ([name, create]) => [name, await createPair(name, () => create(kubeConfig))] as const,
    ),
  )
  for (let round = -WARM_UP; round < rounds; round++) {
    // In turn, so that no client is always the first.
    const first = (round + WARM_UP) % pairs.length
    for (const [name, pair] of [...pairs.slice(first), ...pairs.slice(0, first)]) {
      for (const [what, ms] of Object.entries(await pair.round())) {
        if (round >= 0) (samples[`${name} ${what}`] ??= []).push(ms)
      }
    }
  }
  for (const [, pair] of pairs) await pair.close()
}

async function createPair(name: string, createClient: () => Promise<Client>) {
  const [a, b] = [await createClient(), await createClient()]
  let lease = await createLease(a, name)
  let onReleased = (_lease: Lease) => {}
  const selector = encodeURIComponent(`metadata.name=${lease.metadata.name}`)
  const query = `?watch=true&fieldSelector=${selector}&resourceVersion=${lease.metadata.resourceVersion}`
  await b.watch(LEASES + query, (line) => {
    const seen = (JSON.parse(line) as { object: Lease }).object
    if (seen.spec.holderIdentity === '') onReleased(seen)
  })
  return {
    async round() {
      const { promise, resolve, reject } = Promise.withResolvers<Lease>()
      onReleased = (seen) => void put(b, seen, 'b').then(resolve, reject)
      const released = performance.now()
      void put(a, lease, '').catch(reject)
      lease = await promise
      const acquired = performance.now()
      lease = await put(a, lease, 'a')
      return { handover: acquired - released, update: performance.now() - acquired }
    },
    close: () => Promise.all([a.close(), b.close()]),
  }
}

async function measureRecoveries(name: string): Promise<number[]> {
  const durations: number[] = []
  for (let count = 0; count < RECOVERIES; count++) {
    await using proxy = await TcpProxy.start(controlPlane.url)
    const client = await CLIENTS[name]?.(kubeConfigFor(proxy.url))
    if (client === undefined) throw new Error(`Expected a client ${name}`)
    const lease = await createLease(client, `${name} recovery ${count}`)
    proxy.strand()
    await attempt(client, lease)
    const timedOut = performance.now()
    for (let tries = 0; tries < ATTEMPTS; tries++) if (await attempt(client, lease)) break
    durations.push(performance.now() - timedOut)
    await client.close()
  }
  return durations
}

/** Updates the lease at whatever version it has. Resolves with whether the server answered in time. */
async function attempt(client: Client, { metadata: { name } }: Lease): Promise<boolean> {
  try {
    await put(client, { metadata: { name } }, 'a', AbortSignal.timeout(ATTEMPT_MS))
    return true
  } catch {
    return false
  }
}

async function createLease(client: Client, name: string): Promise<Lease> {
  const stored = { metadata: { name: name.replaceAll(' ', '-') } }
  return (await client.send('POST', LEASES, leaseOf(stored, 'a'))) as Lease
}

async function put(client: Client, stored: Pick<Lease, 'metadata'>, holder: string, signal?: AbortSignal) {
  return (await client.send('PUT', `${LEASES}/${stored.metadata.name}`, leaseOf(stored, holder), signal)) as Lease
}

function leaseOf({ metadata: { name, resourceVersion } }: Pick<Lease, 'metadata'>, holderIdentity: string): unknown {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...(resourceVersion && { resourceVersion }) },
    spec: { holderIdentity, leaseDurationSeconds: 15 },
  }
}

function kubeConfigFor(url: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(controlPlane.kubeConfig({ name: 'bench', groups: ['system:masters'] }, url))
  return kubeConfig
}
