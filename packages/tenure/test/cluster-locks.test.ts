import { KubeConfig } from '@kubernetes/client-node'
import type { LeaseOptions } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { LeaseLock } from '@tenure/kubernetes'
import { CoordinatedLock } from '@tenure/kubernetes/internal'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Cluster } from '../src/cluster.ts'

/** The lock of a lease in a cluster that gets no request, and the events that were logged. */
function lockOf(options: Partial<LeaseOptions>) {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser(
    { name: 'api', server: 'http://127.0.0.1:7001', skipTLSVerify: false },
    { name: 'user' },
  )
  const events: unknown[] = []
  const note = (fields: Readonly<Record<string, unknown>>) => void events.push(fields['event'])
  const logger = { ...silentLogger, warn: note, child: () => logger }
  const cluster = new Cluster({
    kubeConfig,
    kubeConfigPath: undefined,
    env: {},
    identity: 'a',
    logger,
    opsPort: () => 0,
  })
  onTestFinished(async () => cluster.stop())
  return { lock: cluster.lock({ name: 'janitor', namespace: 'ops', ...options }), events }
}

const coordinated = { strategy: 'OldestEmulationVersion', binaryVersion: '1.4.0' } as const

describe('The lock of a lease', () => {
  test('is coordinated only with the strategy that an API server knows, and unless the replicas choose', () => {
    expect(lockOf({}).lock).toBeInstanceOf(LeaseLock)
    expect(lockOf({ ...coordinated, coordination: 'peers' }).lock).toBeInstanceOf(LeaseLock)
    expect(lockOf(coordinated).lock).toBeInstanceOf(CoordinatedLock)
  })

  test('finds out who elects, unless the options say that the API server does', () => {
    const stateWith = (options: Partial<LeaseOptions>) => lockOf({ ...coordinated, ...options }).lock.coordinator?.state
    expect(stateWith({})).toBe('asking')
    expect(stateWith({ coordination: 'server' })).toBe('server')
  })

  test('identifies the container of this process only where its death is to be proved', () => {
    expect(lockOf({}).events).toEqual([])
    expect(lockOf({ proveDeath: false }).events).toEqual([])
    expect(lockOf({ proveDeath: true }).events).toEqual(['no-pod'])
  })
})
