import { KubeConfig } from '@kubernetes/client-node'
import type { Lock } from '@tenure/core'
import { LeaseLock } from '@tenure/kubernetes'
import { LeaseClient } from '@tenure/kubernetes/internal'
import { ConfigMapLock, EndpointsLock, MultiLock } from '@tenure/kubernetes/legacy-locks'

interface LockOptions {
  readonly client: LeaseClient
  readonly name: string
  readonly namespace: string
}

/** A kind of lock, and the collections that it keeps its record in. */
export interface LockKind {
  readonly open: (options: LockOptions) => Lock
  readonly collections: readonly string[]
}

/** Every lock that keeps its record in objects of a cluster. */
export const LOCK_KINDS: Readonly<Record<string, LockKind>> = {
  LeaseLock: { open: (options) => new LeaseLock(options), collections: ['leases'] },
  ConfigMapLock: { open: (options) => new ConfigMapLock(options), collections: ['configmaps'] },
  EndpointsLock: { open: (options) => new EndpointsLock(options), collections: ['endpoints'] },
  'MultiLock of a ConfigMapLock and a LeaseLock': {
    open: (options) => new MultiLock(new ConfigMapLock(options), new LeaseLock(options)),
    collections: ['configmaps', 'leases'],
  },
  'MultiLock of an EndpointsLock and a LeaseLock': {
    open: (options) => new MultiLock(new EndpointsLock(options), new LeaseLock(options)),
    collections: ['endpoints', 'leases'],
  },
}

/** Which lock another process is to open, and where. */
export interface LockAddress {
  readonly kind: string
  readonly kubeConfig: string
  readonly name: string
  readonly namespace: string
}

/** For the conformance suite: the same lock in another process. */
export function openLock({ kind, kubeConfig: text, name, namespace }: LockAddress): Lock {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(text)
  const found = LOCK_KINDS[kind]
  if (found === undefined) throw new Error(`No lock is called \`${kind}\``)
  return found.open({ client: new LeaseClient({ kubeConfig }), name, namespace })
}
