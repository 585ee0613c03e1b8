/** `createManager()` refuses invalid options before it starts anything. */
import { setImmediate as turn } from 'node:timers/promises'
import { KubeConfig } from '@kubernetes/client-node'
import { AlreadyStartedError } from '@tenure/core/internal'
import { Controller, createManager, type CreateManagerOptions, OptionsError } from 'tenure'
import { afterEach, describe, expect, it } from 'vitest'

class Idle extends Controller {
  override readonly name = 'idle'

  override async run(): Promise<void> {}
}

const LEASE = { name: 'janitor', namespace: 'ops' } as const
const NOTHING_AROUND = { env: {}, argv: [], logLevel: 'silent' } satisfies CreateManagerOptions

// A test waits one turn of the event loop for unhandled rejections.
afterEach(() => turn())

function create(options: object): unknown {
  return createManager({ lease: LEASE, ...NOTHING_AROUND, ...options })
}

describe('createManager() refuses', () => {
  const withTiming = (timing: object) => ({ lease: { ...LEASE, ...timing } })

  it.each([
    ['a lease duration of part of a second', withTiming({ leaseDurationMs: 1500 }), /`leaseDurationMs`.*whole.*1500/],
    ['a lease duration of zero', withTiming({ leaseDurationMs: 0 }), /`leaseDurationMs`.*at least 1000.*`0`/],
    [
      'a term that could outlast the lease',
      withTiming({ leaseDurationMs: 10_000, renewDeadlineMs: 8000, abortGraceMs: 2000 }),
      /`renewDeadlineMs` \+ `abortGraceMs`.*`leaseDurationMs` × \(1 − `clockRateTolerance`\).*8000 \+ 2000 > 9500/,
    ],
    [
      'a tolerance that leaves no time',
      withTiming({ clockRateTolerance: 0.3 }),
      /`clockRateTolerance`.*10000 \+ 1000 > 10500/,
    ],
    [
      'a retry that could miss the deadline',
      withTiming({ retryPeriodMs: 7000, requestTimeoutMs: 2000 }),
      /`retryPeriodMs` × 1\.2 \+ `requestTimeoutMs`.*`renewDeadlineMs`.*7000 × 1\.2 \+ 2000 ≥ 10000/,
    ],
    ['a negative duration', withTiming({ abortGraceMs: -1 }), /`abortGraceMs`.*at least 0.*`-1`/],
    ['a duration that is no number', withTiming({ retryPeriodMs: '2s' }), /`retryPeriodMs`.*`2s`/],
    ['an impossible tolerance', withTiming({ clockRateTolerance: 1 }), /`clockRateTolerance`.*below 1.*`1`/],
    ['an unknown option', { leese: LEASE }, /Unknown option `leese`.*did you mean `lease`\?/],
    [
      'an unknown option of the lease',
      withTiming({ renewDeadline: 1 }),
      /`renewDeadline`.*did you mean `renewDeadlineMs`\?/,
    ],
    ['an unknown option of the port', { ops: { prt: 1 } }, /`prt`.*did you mean `port`\?/],
    ['an unknown option of restarts', { restart: { maxRestart: 1 } }, /`maxRestart`.*did you mean `maxRestarts`\?/],
    [
      'an unknown feature gate',
      { featureGates: { GracefulTransition: true } },
      /Unknown feature gate `GracefulTransition`.*did you mean `GracefulLeaderTransition`\?/,
    ],
    [
      'an unknown feature gate in a flag',
      { argv: ['--feature-gates=ReleaseLock=true'] },
      /Unknown feature gate `ReleaseLock`.*did you mean `ReleaseLockOnExit`\?/,
    ],
    [
      'a feature gate that is neither on nor off',
      { env: { TENURE_FEATURE_GATES: 'ReleaseLockOnExit=maybe' } },
      /feature gates.*`ReleaseLockOnExit=maybe`/,
    ],
    ['an unknown variable', { env: { TENURE_LEESE: 'x' } }, /`TENURE_LEESE`.*did you mean `TENURE_LEASE`\?/],
    ['a lease without a name', { lease: {} }, /`lease\.name`, `--lease` or `TENURE_LEASE`/],
    ['a lease with an impossible name', { lease: { ...LEASE, name: 'Jan_itor' } }, /`lease\.name`.*`Jan_itor`/],
    ['an impossible namespace', { lease: { ...LEASE, namespace: 'my.ops' } }, /`lease\.namespace`.*`my\.ops`/],
    ['an empty identity', { identity: ' ' }, /`identity`.*not empty/],
    ['a port that is none', { ops: { port: 70_000 } }, /`ops\.port`.*65535.*`70000`/],
    ['a port that is no number', { env: { TENURE_OPS_PORT: 'http' } }, /`ops\.port`.*`http`/],
    ['an unknown policy', { onWedged: 'release' }, /`onWedged`.*exit, hold, abandon.*`release`/],
    ['an unknown log level', { logLevel: 'loud' }, /`logLevel`.*`loud`/],
  ])('%s', (_what, options, message) => {
    const refusal = expect(() => create(options))
    refusal.toThrow(OptionsError)
    refusal.toThrow(message)
  })
})

describe('a manager refuses', () => {
  const manager = () =>
    createManager({ lease: LEASE, ...NOTHING_AROUND, ops: false, signals: false, kubeConfig: nowhere() })

  it('to be started twice', async () => {
    await using once = manager()
    void once.start()
    await expect(once.start()).rejects.toThrow(AlreadyStartedError)
  })

  it('controllers after the start', async () => {
    await using once = manager()
    void once.start()
    expect(() => once.register(() => new Idle())).toThrow(AlreadyStartedError)
  })

  it('a controller in place of a factory', () => {
    expect(() => manager().register(new Idle() as never)).toThrow(OptionsError)
  })
})

/** A cluster at a port on which nothing listens. */
function nowhere(): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser(
    { name: 'nowhere', server: 'https://127.0.0.1:1', skipTLSVerify: true },
    { name: 'nobody' },
  )
  return kubeConfig
}
