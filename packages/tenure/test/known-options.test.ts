import { KubeConfig } from '@kubernetes/client-node'
import * as apiServer from '@tenure/api-server'
import * as apiServerStore from '@tenure/api-server/internal'
import * as core from '@tenure/core'
import * as coreInternal from '@tenure/core/internal'
import * as fileLock from '@tenure/file-lock'
import * as kubernetes from '@tenure/kubernetes'
import * as kubernetesEndpoints from '@tenure/kubernetes/endpoints'
import * as kubernetesInternal from '@tenure/kubernetes/internal'
import * as legacyLocks from '@tenure/kubernetes/legacy-locks'
import * as ops from '@tenure/ops'
import * as simulator from '@tenure/simulator'
import * as leaks from '@tenure/testing/leaks'
import * as lockConformance from '@tenure/testing/lock-conformance'
import * as virtualClock from '@tenure/testing/virtual-clock'
import * as tenure from 'tenure'
import { describe, expect, it } from 'vitest'

/** Passed to every function in the place of its options, with what it needs before it looks at them. */
const WRONG = { unknownOption: true }

const kubeConfig = new KubeConfig()
kubeConfig.loadFromClusterAndUser({ name: 'a', server: 'http://127.0.0.1:1', skipTLSVerify: false }, { name: 'a' })

const term = { epoch: 1n, lease: 'a', controller: 'a', gateSignal: new AbortController().signal, isHeld: () => true }
const store = new core.MemoryLeaseStore()
const quiet = { lock: () => store.lock('a'), ops: false, env: {}, argv: [], logLevel: 'silent' } as const
const resource = { apiGroup: '', resources: ['configmaps'] }
const lease = { name: 'a', namespace: 'b' }

type Exports = Readonly<Record<string, unknown>>

/** A call with an option that does not exist, for each export that takes options. It is typed as a program in JavaScript is. */
const CALLS: Readonly<Record<string, (module: Exports) => unknown>> = {
  ConfigMapLock: ({ ConfigMapLock }) => make(ConfigMapLock, { ...lease, kubeConfig, ...WRONG }),
  CoordinatedLock: ({ CoordinatedLock }) => make(CoordinatedLock, { ...lease, kubeConfig, ...WRONG }),
  createManager: ({ createManager }) => call(createManager, { ...quiet, lease: { name: 'a' }, ...WRONG }),
  createOps: ({ createOps }) => call(createOps, { port: 0, ...WRONG }),
  EndpointsLock: ({ EndpointsLock }) => make(EndpointsLock, { ...lease, kubeConfig, ...WRONG }),
  endpoints: ({ endpoints }) => call(endpoints, { service: 'a', mode: 'none', ...WRONG }),
  expectNoLeaks: ({ expectNoLeaks }) => call(expectNoLeaks, () => {}, WRONG),
  failTestsOnLeaks: ({ failTestsOnLeaks }) => call(failTestsOnLeaks, { beforeEach: () => {} }, WRONG),
  FileLock: ({ FileLock }) => make(FileLock, { path: '/nowhere/at/all', ...WRONG }),
  findKubeConfig: ({ findKubeConfig }) => call(findKubeConfig, WRONG),
  gated: ({ gated }) => call(gated, term, kubeConfig, WRONG),
  gatedFetch: ({ gatedFetch }) => call(gatedFetch, term, undefined, WRONG),
  holderCheck: ({ holderCheck }) => call(holderCheck, { lease, resources: [resource], writers: ['w'], ...WRONG }),
  inClusterNamespace: ({ inClusterNamespace }) => call(inClusterNamespace, WRONG),
  informer: ({ informer }) => call(informer, term, { kubeConfig, path: '/api/v1/configmaps', ...WRONG }),
  lead: ({ lead }) => call(lead, { ...quiet, lease: { name: 'a' }, ...WRONG }, async () => {}),
  leakFree: ({ leakFree }) => call(leakFree, () => {}, WRONG),
  LeaseClient: ({ LeaseClient }) => make(LeaseClient, { kubeConfig, ...WRONG }),
  LeaseEvents: ({ LeaseEvents }) => make(LeaseEvents, { ...lease, kubeConfig, identity: 'i', ...WRONG }),
  LeaseLock: ({ LeaseLock }) => make(LeaseLock, { ...lease, kubeConfig, ...WRONG }),
  leaseRole: ({ leaseRole }) => call(leaseRole, { ...lease, ...WRONG }),
  lifeLock: ({ lifeLock }) => call(lifeLock, { ...lease, pod: 'p', kubeConfig, ...WRONG }),
  loadKubeConfig: ({ loadKubeConfig }) => call(loadKubeConfig, WRONG),
  lockConformance: ({ lockConformance }) =>
    call(lockConformance, { createFixture: () => {}, otherProcess: 'none', outage: 'none', ...WRONG }),
  Manager: ({ Manager }) =>
    make(Manager, { identity: 'a', lease: { name: 'a' }, createLock: () => store.lock('a'), ...WRONG }),
  manifests: ({ manifests }) => call(manifests, { ...lease, image: 'i', ...WRONG }),
  membership: ({ membership }) => call(membership, { group: 'a', ...WRONG }),
  ApiTransport: ({ ApiTransport }) => make(ApiTransport, { kubeConfig, ...WRONG }),
  PodDeparture: ({ PodDeparture }) => make(PodDeparture, { client: undefined, pod: undefined, ...WRONG }),
  PodDeathProof: ({ PodDeathProof }) => make(PodDeathProof, { client: undefined, ...WRONG }),
  resolveFeatureGates: ({ resolveFeatureGates }) => call(resolveFeatureGates, WRONG),
  CacheBarrier: ({ CacheBarrier }) => make(CacheBarrier, WRONG),
  simulate: ({ simulate }) => call(simulate, { controllers: [], ...WRONG }),
  simulateSeeds: ({ simulateSeeds }) => call(simulateSeeds, { controllers: [], seeds: 1, ...WRONG }),
  startApiServer: ({ startApiServer }) => call(startApiServer, WRONG),
  Store: ({ Store }) => make(Store, WRONG),
  termCheck: ({ termCheck }) => call(termCheck, { lease, resources: [resource], ...WRONG }),
  VirtualClock: ({ VirtualClock }) => make(VirtualClock, WRONG),
  watchForLeaks: ({ watchForLeaks }) => call(watchForLeaks, WRONG),
}

/** What takes no object of options; the options of errors are those of `Error`. */
const WITHOUT_OPTIONS: ReadonlySet<string> = new Set([
  'assertBoolean',
  'assertDnsLabel',
  // Makes a certificate authority from a name, or from a stored key.
  'CertificateAuthority',
  'formatKubeConfig',
  'askDev',
  'connectToDev',
  'devFolder',
  'followKubeConfig',
  'pause',
  'integerAt',
  'isJsonObject',
  'isPrivateFolder',
  'isKeptByHolder',
  'nearestName',
  'objectAt',
  'pidOfSocket',
  'parseLease',
  'prepareProcessGuard',
  'readLeader',
  'readAnswer',
  'readOffer',
  'readProcessRef',
  'readRequest',
  'readRequestAnswer',
  'readStandbys',
  'readTransferNonce',
  'stateFolder',
  'statusError',
  'stringAt',
  'withDeadline',
  'withRequest',
  'assertDnsSubdomain',
  'assertKnownKeys',
  'assertLabels',
  'assertOneOf',
  'Controller',
  'describeReport',
  'compareVersions',
  'countedEpochOf',
  'epochOf',
  'describeTasks',
  'errorOf',
  'exitCodeOf',
  'formatMicroTime',
  'FoundKubeConfig',
  'HealthProbe',
  'HealthRegistry',
  'isA',
  'jittered',
  'isVersion',
  'isWriteMethod',
  'leastEpochOf',
  'MemoryLeaseStore',
  'metrics',
  'missingResources',
  'MultiLock',
  'onAbort',
  'parseFeatureGates',
  'resolveDurationMs',
  // Takes all options of a lease, which the manager has checked.
  'resolveTimingOptions',
  'safeLogger',
  'supportedKubeConfig',
  'systemRandom',
  // Made for a term, out of options that hold more.
  'OwnedProcesses',
  'TaskScope',
  'TraceWriter',
  'TermRegistries',
  'textOf',
  'toYaml',
  'traceRecordOf',
  'withLeastEpoch',
  'withoutHints',
  'WriteGate',
])

const MODULES = {
  core,
  coreInternal,
  fileLock,
  kubernetes,
  kubernetesEndpoints,
  kubernetesInternal,
  legacyLocks,
  ops,
  apiServer,
  apiServerStore,
  simulator,
  leaks,
  lockConformance,
  virtualClock,
  tenure,
}

function call(callee: unknown, ...args: readonly unknown[]): unknown {
  return (callee as (...given: readonly unknown[]) => unknown)(...args)
}

function make(type: unknown, options: unknown): unknown {
  return new (type as new (given: unknown) => unknown)(options)
}

function isErrorType(value: unknown): boolean {
  return typeof value === 'function' && value.prototype instanceof Error
}

const callables = Object.entries<Exports>(MODULES).flatMap(([module, exports]) =>
  Object.entries(exports)
    .filter(([, value]) => typeof value === 'function' && !isErrorType(value))
    .map(([name]) => [name, module, exports] as const),
)

describe('the options of public functions', () => {
  it('are all known to this test', () => {
    const names = callables.map(([name]) => name)
    expect(names.filter((name) => !(name in CALLS) && !WITHOUT_OPTIONS.has(name))).toEqual([])
    expect([...Object.keys(CALLS), ...WITHOUT_OPTIONS].filter((name) => !names.includes(name))).toEqual([])
  })

  it.each(callables.filter(([name]) => name in CALLS))(
    '%s of %s refuses an unknown option',
    async (name, _, exports) => {
      const outcome = (async () => CALLS[name]?.(exports))()
      await expect(outcome).rejects.toThrow(tenure.OptionsError)
      await expect(outcome).rejects.toThrow(/Unknown .*`unknownOption`/)
    },
  )
})
