import { describe, expect, test } from 'vitest'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { electorConfig } from '../../src/manager/elector-config.ts'
import { resolveGroupOptions } from '../../src/manager/group-options.ts'
import { type ManagerOptions, resolveManagerOptions } from '../../src/manager/manager-options.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import { systemRandom } from '../../src/ports/random.ts'

const createLock: ManagerOptions['createLock'] = ({ name }) => new MemoryLeaseStore().lock(name)
const resolve = (options: Partial<ManagerOptions> = {}) =>
  resolveManagerOptions({ identity: 'me', lease: { name: 'lease' }, createLock, ...options })

describe('The options of a manager', () => {
  test('have defaults', () => {
    expect(resolve()).toEqual({
      identity: 'me',
      createLock,
      revision: undefined,
      zone: undefined,
      rollout: 'prefer-new',
      featureGates: {
        GracefulLeaderTransition: { enabled: true, stage: 'BETA' },
        ReleaseLockOnExit: { enabled: true, stage: 'BETA' },
      },
      onWedged: 'exit',
      watchdog: undefined,
      restart: { maxRestarts: 5, withinMs: 60_000, backoffMs: 200 },
      groups: resolveGroupOptions(),
      terminate: undefined,
      logger: expect.anything(),
      clock: systemClock,
      random: systemRandom,
    })
  })

  test('name this replica in every log line', () => {
    const bindings: object[] = []
    const logger = { ...silentLogger, child: (more: object) => (bindings.push(more), silentLogger) }
    resolve({ logger })
    expect(bindings).toEqual([{ identity: 'me' }])
  })

  test('let revisions decide nothing where the rollout is off', () => {
    expect(resolve({ revision: '2', rollout: 'eager' }).revision).toBe('2')
    expect(resolve({ revision: '2', rollout: 'off' }).revision).toBeUndefined()
  })

  test.each([
    [{ revision: 'a'.repeat(253) }],
    [{ zone: 'a'.repeat(63) }],
    [{ onWedged: 'hold' }],
    [{ onWedged: 'abandon' }],
    [{ rollout: 'never-lead' }],
    [{ watchdog: { markerFile: '/run/marker' } }],
    [{ watchdog: {} }],
  ] as const)('%o are taken as they are', (options) => {
    expect(resolve(options)).toMatchObject(options)
  })

  test('switch the watchdog on without options of its own', () => {
    expect([resolve({ watchdog: true }).watchdog, resolve({ watchdog: false }).watchdog]).toEqual([{}, undefined])
  })

  test.each<[object, string]>([
    [{ identity: 7 }, 'Expected `identity` to be a text that is not empty, got `7` (number)'],
    [{ createLock: 7 }, 'Expected `createLock` to be a function that makes the lock of a lease, got `7` (number)'],
    [{ revision: 'a'.repeat(254) }, 'Expected `revision` to be a text of 1 to 253 printable characters, got `aaa'],
    [{ watchdog: null }, 'Expected `watchdog` to be true, false or options, got `null`'],
    [{ watchdog: 'yes' }, 'Expected `watchdog` to be true, false or options, got `yes` (string)'],
    [{ watchdog: { file: 'a' } }, 'Unknown option `file` in `watchdog`; did you mean `markerFile`?'],
    [{ watchdog: { markerFile: 7 } }, 'Expected `watchdog.markerFile` to be the path of a file, got `7` (number)'],
    [{ watchdog: { markerFile: '' } }, 'Expected `watchdog.markerFile` to be the path of a file, got `` (string)'],
    [{ identities: 'me' }, 'Unknown option `identities` in the options of a Manager; did you mean `identity`?'],
    [
      { missingLease: 'wait' },
      'Unknown option `missingLease` in the options of a Manager: it belongs in `lease`, as `lease.missingLease`',
    ],
  ])('%o are refused', (options, message) => {
    expect(() => resolve(options)).toThrow(message)
  })
})

describe('The groups of a manager', () => {
  test('have default budgets', () => {
    expect(resolveGroupOptions()).toEqual({
      servers: { stopTimeoutMs: 5000 },
      caches: { stopTimeoutMs: 5000 },
      alwaysOn: { drainTimeoutMs: 20_000, abortGraceMs: 4000, cleanupTimeoutMs: 4000 },
      warmUp: { stopTimeoutMs: 5000 },
    })
  })

  test('may have no time at all', () => {
    const none = {
      servers: { stopTimeoutMs: 0 },
      caches: { stopTimeoutMs: 0 },
      alwaysOn: { drainTimeoutMs: 0, abortGraceMs: 0, cleanupTimeoutMs: 0 },
      warmUp: { stopTimeoutMs: 0 },
    }
    expect(resolveGroupOptions(none)).toEqual(none)
  })

  test.each<[object, string]>([
    [
      { servers: { stopTimeoutMs: -1 } },
      'Expected `groups.servers.stopTimeoutMs` to be a number of milliseconds of at least 0, got `-1` (number)',
    ],
    [
      { warmUp: { stopTimeoutMs: -1 } },
      'Expected `groups.warmUp.stopTimeoutMs` to be a number of milliseconds of at least 0, got `-1` (number)',
    ],
    [{ caches: { stopTimeout: 1 } }, 'Unknown option `stopTimeout` in `groups.caches`; did you mean `stopTimeoutMs`?'],
    [
      { alwaysOn: { drainTimeout: 1 } },
      'Unknown option `drainTimeout` in `groups.alwaysOn`; did you mean `drainTimeoutMs`?',
    ],
    [
      { alwaysOn: { abortGraceMs: -1 } },
      'Expected `groups.alwaysOn.abortGraceMs` to be a number of milliseconds of at least 0, got `-1` (number)',
    ],
    [
      { alwaysOn: { cleanupTimeoutMs: -1 } },
      'Expected `groups.alwaysOn.cleanupTimeoutMs` to be a number of milliseconds of at least 0, got `-1` (number)',
    ],
    [{ server: {} }, 'Unknown option `server` in `groups`; did you mean `servers`?'],
  ])('%o are refused', (options, message) => {
    expect(() => resolveGroupOptions(options)).toThrow(message)
  })
})

describe('The settings of an elector', () => {
  test('come from the lease and the manager', () => {
    const lease = { name: 'lease', leaseDurationMs: 30_000, missingLease: 'wait', cleanupTimeoutMs: 700 } as const
    const manager = resolve({ revision: '2', zone: 'a', onWedged: 'hold', featureGates: { ReleaseLockOnExit: false } })
    expect(electorConfig(lease, manager)).toEqual({
      identity: 'me',
      timing: resolveTimingOptions({ leaseDurationMs: 30_000 }),
      releaseOnExit: false,
      missingLease: 'wait',
      cleanupTimeoutMs: 700,
      onWedged: 'hold',
      revision: '2',
      zone: 'a',
      strategy: undefined,
      isEager: false,
      leavesEarly: true,
      neverLeads: false,
    })
  })

  test.each([
    ['prefer-new', { isEager: false, leavesEarly: true, neverLeads: false }],
    ['eager', { isEager: true, leavesEarly: true, neverLeads: false }],
    ['off', { isEager: false, leavesEarly: false, neverLeads: false }],
    ['never-lead', { isEager: false, leavesEarly: true, neverLeads: true }],
  ] as const)('follow the rollout `%s`', (rollout, expected) => {
    expect(electorConfig({ name: 'lease' }, resolve({ rollout }))).toMatchObject(expected)
  })

  test('give cleanups 4 seconds by default', () => {
    expect(electorConfig({ name: 'lease' }, resolve()).cleanupTimeoutMs).toBe(4000)
  })
})
