import { defineConfig } from 'vitest/config'
import { type KubernetesVersion, wantedVersions } from './test/control-plane/kubernetes-version.ts'

// Tests run from source: the packages resolve to their `src` through this export condition. Not `import`, which Node adds where a module
// is imported: with it here, what a CommonJS package requires would be resolved to ES modules.
const conditions = ['@tenure/source', 'node', 'module', 'default']
export const source = { resolve: { conditions }, ssr: { resolve: { conditions } } } as const

// As above, without `module`, by which CommonJS packages would also get ES modules.
const requirable = ['@tenure/source', 'node']
const commonJs = { resolve: { conditions: requirable }, ssr: { resolve: { conditions: requirable } } }

/** Unit tests that search for a while, or start programs: in a run of their own, so that the others stay quick. */
export const THOROUGH: readonly string[] = [
  'packages/cli/test/{main,dev/dev,exec/container-init}.test.ts',
  'examples/{endpoints,leader-for-life}/test/**/*.test.ts',
  'packages/core/test/election/fleet.test.ts',
  'packages/core/test/explore/**/*.test.ts',
  'packages/kubernetes/test/multi-lock/migration.test.ts',
  'packages/kubernetes/test/{coordinated-lock,life-lock-conformance}.test.ts',
  'packages/core/test/term/owned/descendants.test.ts',
  'packages/core/test/watchdog/**/*.test.ts',
  'packages/kubernetes/test/isolation.test.ts',
  'packages/kubernetes/test/endpoints/fleet.test.ts',
  'packages/ops/test/{leaks/term-leaks,transition-blockers}.test.ts',
  'packages/testing/test/leaks/{controllers-leaking,planted-leaks,test-runners}.test.ts',
  'packages/simulator/test/{simulate,oracles,desired-state,stale-acts,shrink,rollouts,cached-reads,strategies,coordination,lead-for-life}.test.ts',
]

/** The samples of the documents: compiled and run together with the checks of the site. */
const SAMPLES = 'test/docs/samples/**/*.test.ts'

/** What changes when every unit test is repeated, to see whether the leak detector ever cries wolf: nothing watches its own tests. */
const repeated = {
  runner: 'scripts/repeating-runner.ts',
  exclude: [...THOROUGH, SAMPLES, 'packages/testing/test/leaks/watching.test.ts'],
}

const versions = wantedVersions()
const [firstVersion] = versions

/** Makes the program of the replicas in scenarios. */
const SCENARIOS = 'test/scenarios/global-setup.ts'

/** Scenarios that mostly wait for leases to run out, or need a controller manager or a node: on the real server only. */
const PATIENT = ['test/scenarios/{odd-leases,proved-death,manifests,garbage-collector,port-forward}.test.ts']

/**
 * A suite that needs an API server runs once for each of them. `TENURE_API_SERVER` tells the test which one, and `TENURE_KUBERNETES`
 * the version of a real one.
 */
const onApiServer = (name: 'embedded' | 'real', maxWorkers: number, version: KubernetesVersion = '1.36.3') => ({
  extends: true as const,
  ...source,
  test: {
    name: name === 'real' && version !== firstVersion ? `real-${version}` : name,
    // The fences on the server are made of what the embedded one does not have.
    include: [`test/{contract,scenarios${name === 'real' ? ',faults' : ''}}/**/*.test.ts`],
    exclude: name === 'real' ? [] : PATIENT,
    env: { TENURE_API_SERVER: name, TENURE_KUBERNETES: version },
    globalSetup: SCENARIOS,
    // After the unit tests, whose load would delay the replicas.
    sequence: { groupOrder: 1 },
    maxWorkers,
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
})

export default defineConfig({
  ...source,
  test: {
    projects: [
      {
        extends: true,
        ...source,
        test: {
          name: 'unit',
          include: [
            '{packages,examples}/*/test/**/*.test.ts',
            'test/{docs,mutation,simulation}/**/*.test.ts',
            'scripts/**/*.test.ts',
            'site/simulator/test/**/*.test.ts',
          ],
          exclude: [...THOROUGH, SAMPLES],
          setupFiles: ['packages/testing/test/watch-leaks.ts'],
          maxWorkers: 4,
          testTimeout: 60_000,
          ...(process.env['TENURE_REPEATS'] && repeated),
        },
      },
      {
        extends: true,
        ...source,
        test: {
          name: 'thorough',
          include: [...THOROUGH],
          setupFiles: ['packages/testing/test/watch-leaks.ts'],
          maxWorkers: 2,
          testTimeout: 600_000,
        },
      },
      {
        extends: false,
        ...commonJs,
        test: {
          name: 'stores',
          include: ['test/stores/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        ...source,
        test: {
          name: 'soak',
          include: ['test/soak/**/*.test.ts'],
          maxConcurrency: 2,
          testTimeout: 600_000,
        },
      },
      {
        extends: true,
        ...source,
        test: {
          name: 'docs',
          include: ['site/test/**/*.test.ts', SAMPLES],
          // Every sample that runs has a process of its own.
          maxConcurrency: 3,
          testTimeout: 180_000,
        },
      },
      onApiServer('embedded', 3),
      ...versions.map((version) => onApiServer('real', 2, version)),
      {
        extends: true,
        ...source,
        test: {
          name: 'interop',
          include: ['test/interop/**/*.test.ts'],
          globalSetup: SCENARIOS,
          maxWorkers: 2,
          // Every test starts replicas, which takes more CPU than all that follows.
          maxConcurrency: 4,
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        ...source,
        test: {
          name: 'ui',
          include: ['test/ui/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: false,
        ...commonJs,
        test: {
          name: 'attacks',
          include: ['test/attacks/**/*.test.ts'],
          globalSetup: SCENARIOS,
          env: { TENURE_API_SERVER: 'real' },
          maxWorkers: 2,
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
