import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pid } from 'node:process'
import { KubeConfig } from '@kubernetes/client-node'
import type { LeaseOptions } from '@tenure/core'
import { silentLogger, systemClock, systemRandom } from '@tenure/core/internal'
import { LeaseLock } from '@tenure/kubernetes'
import {
  CoordinatedLock,
  inClusterNamespace,
  LeaseClient,
  PodDeathProof,
  PodDeparture,
} from '@tenure/kubernetes/internal'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Cluster, type ClusterOptions } from '../src/cluster.ts'
import { joinDev } from '../src/join-dev.ts'

vi.mock('@tenure/kubernetes', { spy: true })
vi.mock('@tenure/kubernetes/internal', { spy: true })
vi.mock('../src/join-dev.ts', { spy: true })

beforeEach(() => void vi.mocked(inClusterNamespace).mockReturnValue(undefined))

afterEach(() => void vi.resetAllMocks())

function kubeConfigOf(server: string, namespace?: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'api', server, skipTLSVerify: false }, { name: 'user' })
  kubeConfig.contexts = kubeConfig.contexts.map((context) => ({ ...context, ...(namespace && { namespace }) }))
  return kubeConfig
}

function clusterWith(options: Partial<ClusterOptions> = {}): Cluster {
  const cluster = new Cluster({
    kubeConfig: kubeConfigOf('http://127.0.0.1:7001'),
    kubeConfigPath: undefined,
    env: {},
    identity: 'a',
    logger: silentLogger,
    opsPort: () => undefined,
    ...options,
  })
  onTestFinished(async () => cluster.stop())
  return cluster
}

/** The options that the last instance of a class was made with. */
function madeWith(part: unknown): unknown {
  return vi.mocked(part as typeof LeaseLock).mock.calls.at(-1)?.[0]
}

const LEASE: LeaseOptions = { name: 'janitor', namespace: 'ops' }
const POD = { POD_NAME: 'janitor-1', POD_NAMESPACE: 'ops', POD_UID: 'uid-1' }
const COORDINATED = { ...LEASE, strategy: 'OldestEmulationVersion' } as const

describe('The lock of a lease', () => {
  test('has the options of the lease, and the usual ones where it has none', () => {
    const cluster = clusterWith()
    cluster.lock(LEASE)
    const usual = { name: 'janitor', namespace: 'ops', labels: {}, silenceMs: 4000 }
    expect(madeWith(LeaseLock)).toEqual({
      ...usual,
      client: expect.any(LeaseClient),
      deathProof: undefined,
      departure: undefined,
    })
    cluster.lock({ ...LEASE, labels: { team: 'ops' }, retryPeriodMs: 3000 })
    expect(madeWith(LeaseLock)).toMatchObject({ labels: { team: 'ops' }, silenceMs: 6000 })
  })

  test('shares the connections of all leases, and the cluster closes them', async () => {
    const cluster = clusterWith()
    cluster.lock(LEASE)
    cluster.lock({ name: 'other' })
    expect(LeaseClient).toHaveBeenCalledExactlyOnceWith({ kubeConfig: cluster.kubeConfig, logger: silentLogger })
    const close = vi.spyOn(LeaseClient.prototype, 'close')
    await cluster.stop()
    expect(close).toHaveBeenCalledOnce()
  })

  test('that is coordinated has the facts of the candidate, and its Pod', () => {
    startOf(PodDeparture)
    clusterWith({ env: POD }).lock({ ...COORDINATED, binaryVersion: '1.5.0', emulationVersion: '1.4.0' })
    expect(madeWith(CoordinatedLock)).toEqual({
      client: expect.any(LeaseClient),
      deathProof: undefined,
      departure: expect.any(PodDeparture),
      name: 'janitor',
      namespace: 'ops',
      labels: {},
      silenceMs: 4000,
      identity: 'a',
      facts: { binaryVersion: '1.5.0', emulationVersion: '1.4.0' },
      leaseDurationMs: 15_000,
      coordination: 'auto',
      pod: { name: 'janitor-1', uid: 'uid-1' },
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    })
  })

  test.each([
    [{}, { binaryVersion: '', emulationVersion: '' }],
    [{ binaryVersion: '1.5.0' }, { binaryVersion: '1.5.0', emulationVersion: '1.5.0' }],
  ])('of a candidate with %j emulates its binary', (versions, facts) => {
    clusterWith().lock({ ...COORDINATED, ...versions, leaseDurationMs: 30_000, coordination: 'server' })
    expect(madeWith(CoordinatedLock)).toMatchObject({ facts, leaseDurationMs: 30_000, coordination: 'server' })
  })

  test.each([{ POD_NAME: 'janitor-1' }, { POD_UID: 'uid-1' }, { POD_NAME: '', POD_UID: 'uid-1' }])(
    'of a candidate names no Pod with %j only',
    (env) => {
      clusterWith({ env }).lock(COORDINATED)
      expect(madeWith(CoordinatedLock)).toMatchObject({ pod: undefined })
    },
  )
})

/** Lets a part begin nothing. */
function startOf(part: { readonly prototype: { start(): void } }) {
  return vi.spyOn(part.prototype, 'start').mockReturnValue(undefined)
}

describe('The departure of the Pod', () => {
  beforeEach(() => void startOf(PodDeparture))

  test('is followed once for all leases, and not after the stop', async () => {
    const [start, close] = [startOf(PodDeparture), vi.spyOn(PodDeparture.prototype, 'close')]
    const cluster = clusterWith({ env: POD })
    for (const name of ['a', 'b']) cluster.lock({ ...LEASE, name })
    expect(PodDeparture).toHaveBeenCalledExactlyOnceWith({
      client: expect.any(LeaseClient),
      pod: { name: 'janitor-1', namespace: 'ops', uid: 'uid-1' },
      logger: silentLogger,
    })
    expect(start).toHaveBeenCalledOnce()
    const [a, b] = vi.mocked(LeaseLock).mock.calls.map(([options]) => options.departure)
    expect(a).toBeInstanceOf(PodDeparture)
    expect(b).toBe(a)
    await cluster.stop()
    expect(close).toHaveBeenCalledOnce()
  })

  test('is that of the Pod in the namespace of its service account, if no variable names it', () => {
    vi.mocked(inClusterNamespace).mockReturnValue('account')
    clusterWith({ env: { POD_NAME: 'janitor-1', POD_NAMESPACE: '', POD_UID: '' } }).lock(LEASE)
    expect(madeWith(PodDeparture)).toMatchObject({ pod: { name: 'janitor-1', namespace: 'account', uid: undefined } })
  })

  test.each([{}, { POD_NAME: 'janitor-1' }, { POD_NAMESPACE: 'ops' }, { POD_NAME: '', POD_NAMESPACE: 'ops' }])(
    'is not followed where only %j is known',
    (env) => {
      clusterWith({ env }).lock(LEASE)
      expect(PodDeparture).not.toHaveBeenCalled()
      expect(madeWith(LeaseLock)).toMatchObject({ departure: undefined })
    },
  )
})

describe('The proof that the container of this process has ended', () => {
  beforeEach(() => void [PodDeparture, PodDeathProof].map(startOf))

  test('is made possible once for all leases that want it, until the stop', async () => {
    const [start, close] = [startOf(PodDeathProof), vi.spyOn(PodDeathProof.prototype, 'close')]
    const cluster = clusterWith({ env: { ...POD, CONTAINER_NAME: 'work' } })
    cluster.lock(LEASE)
    expect(PodDeathProof).not.toHaveBeenCalled()
    for (const name of ['a', 'b']) cluster.lock({ ...LEASE, name, proveDeath: true })
    expect(PodDeathProof).toHaveBeenCalledExactlyOnceWith({
      client: expect.any(LeaseClient),
      pod: { name: 'janitor-1', namespace: 'ops' },
      container: 'work',
      logger: silentLogger,
    })
    expect(start).toHaveBeenCalledOnce()
    const [, a, b] = vi.mocked(LeaseLock).mock.calls.map(([options]) => options.deathProof)
    expect(a).toBeInstanceOf(PodDeathProof)
    expect(b).toBe(a)
    await cluster.stop()
    expect(close).toHaveBeenCalledOnce()
  })

  test.each([{}, { POD_NAME: 'janitor-1' }, { POD_NAMESPACE: 'ops' }])('names no Pod with %j only', (env) => {
    clusterWith({ env: { ...env, CONTAINER_NAME: '' } }).lock({ ...LEASE, proveDeath: true })
    expect(madeWith(PodDeathProof)).toMatchObject({ pod: undefined, container: undefined })
  })
})

describe('The cluster', () => {
  test.each([
    ['https://api.test:6443', 'https://api.test:6443'],
    ['https://api.test:6443/', 'https://api.test:6443'],
    ['https://user:secret@api.test/k8s/clusters/c-1?token=secret', 'https://api.test/k8s/clusters/c-1'],
    ['no address', undefined],
  ])('at %s is logged as %s when it is found', async (server, shown) => {
    const lines: unknown[] = []
    const logger = { ...silentLogger, info: (...line: unknown[]) => void lines.push(line) }
    const cluster = clusterWith({ kubeConfig: kubeConfigOf(server), logger })
    await cluster.start()
    expect(cluster.server).toBe(shown)
    expect(lines).toEqual([[{ event: 'cluster', server: shown }, 'cluster found']])
    expect(cluster.name).toBe('cluster')
  })

  test('is not known before the start', () => {
    const cluster = clusterWith({ kubeConfig: undefined })
    expect(cluster.server).toBeUndefined()
    expect(() => cluster.access).toThrow('The kubeconfig is read when the manager starts')
  })

  test('has the namespace of the lease, of the Pod, of the context, or the default one, in this order', () => {
    const kubeConfig = kubeConfigOf('http://127.0.0.1:7001', 'of-context')
    expect(clusterWith().namespaceOf({ name: 'janitor' })).toBe('default')
    expect(clusterWith({ kubeConfig }).namespaceOf({ name: 'janitor' })).toBe('of-context')
    vi.mocked(inClusterNamespace).mockReturnValue('of-pod')
    expect(clusterWith({ kubeConfig }).namespaceOf({ name: 'janitor' })).toBe('of-pod')
    expect(clusterWith({ kubeConfig }).namespaceOf(LEASE)).toBe('ops')
  })
})

describe('The kubeconfig', () => {
  /** A kubeconfig in a file. */
  function file(server: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-cluster-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'config')
    writeFileSync(path, kubeConfigOf(server).exportConfig())
    return path
  }

  test('is that of the path before that of the environment, and is completed for client-node', async () => {
    const [kubeConfigPath, KUBECONFIG] = [file('http://127.0.0.1:1'), file('http://127.0.0.1:2')]
    const cluster = clusterWith({ kubeConfig: undefined, kubeConfigPath, env: { KUBECONFIG, TENURE_DEV: '1' } })
    await cluster.start()
    expect(cluster.server).toBe('http://127.0.0.1:1')
    expect(cluster.kubeConfig.getCurrentCluster()?.server).toBe('http://127.0.0.1:1')
    expect(joinDev).not.toHaveBeenCalled()
  })

  test.each([
    [8081, { identity: 'a', pid, opsPort: 8081 }],
    [undefined, { identity: 'a', pid }],
  ])('with TENURE_DEV=1 is that of the `tenure dev` that hears of the port %s', async (opsPort, greeting) => {
    const leave = vi.fn<() => Promise<void>>()
    const dev = { kubeConfigPath: file('http://127.0.0.1:3'), leave }
    vi.mocked(joinDev).mockResolvedValue(dev)
    const env = { TENURE_DEV: '1' }
    const cluster = clusterWith({ kubeConfig: undefined, env, opsPort: () => opsPort })
    await cluster.start()
    expect(joinDev).toHaveBeenCalledExactlyOnceWith(env, greeting, silentLogger)
    expect(cluster.server).toBe('http://127.0.0.1:3')
    expect(leave).not.toHaveBeenCalled()
    await cluster.stop()
    expect(leave).toHaveBeenCalledOnce()
  })
})
