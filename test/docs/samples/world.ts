import type { KubeConfig } from '@kubernetes/client-node'
import type { Controller, Lock, Logger, Manager, ManagerOptions, Term } from '@tenure/core'
import type { LockConformanceOptions, LockFixture } from '@tenure/testing/lock-conformance'
import type { RequestListener } from 'node:http'

/*
 * What surrounds the examples in docstrings. An example may use everything here without an import; it imports the rest itself.
 */

export { CoreV1Api, V1Pod } from '@kubernetes/client-node'
export { gatedFetch, Manager } from '@tenure/core'
export { FileLock } from '@tenure/file-lock'
export { gated, informer, LeaseLock, loadKubeConfig, manifests, toYaml } from '@tenure/kubernetes'
export { LeaseClient } from '@tenure/kubernetes/internal'
export { ConfigMapLock, EndpointsLock, MultiLock } from '@tenure/kubernetes/legacy-locks'
export { createOps, metrics } from '@tenure/ops'
export { expectNoLeaks, failTestsOnLeaks, watchForLeaks } from '@tenure/testing/leaks'
export { lockConformance } from '@tenure/testing/lock-conformance'
export { createManager, lead } from 'tenure'
export { once } from 'node:events'
export { createServer } from 'node:http'
export { Counter } from 'prom-client'
export { test } from 'vitest'

export declare const term: Term
export declare const manager: Manager
export declare const identity: string
export declare const lease: ManagerOptions['lease']
export declare const createLock: ManagerOptions['createLock']
export declare const logger: Logger
export declare const kubeConfig: KubeConfig
export declare const name: string
export declare const namespace: string
export declare const answer: RequestListener
export declare const queue: { add(item: unknown): void }
export declare class Janitor extends Controller {
  readonly name: string
  run(term: Term): Promise<void>
}
export declare function sweep(term: Term): Promise<void>
export declare function runTheThing(): Promise<void>

export declare class Fixture implements LockFixture {
  readonly path: string
  openLock(): Lock
  deleteLease(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}
export declare const createFixture: LockConformanceOptions<Fixture>['createFixture']
export declare const outage: LockConformanceOptions<Fixture>['outage']
