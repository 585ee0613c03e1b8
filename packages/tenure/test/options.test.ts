import { hostname } from 'node:os'
import { MemoryLeaseStore, OptionsError } from '@tenure/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readEnvironment, readFlags } from '../src/environment.ts'
import { type CreateManagerOptions, resolveOptions } from '../src/options.ts'

const resolve = (options: CreateManagerOptions = {}) =>
  resolveOptions({ env: {}, argv: [], lease: { name: 'janitor' }, ...options })

describe('the options of createManager', () => {
  it('take the code before a flag, a flag before the environment, and the environment before the default', () => {
    const env = { TENURE_LEASE: 'from-env', TENURE_NAMESPACE: 'from-env', TENURE_OPS_PORT: '1', POD_NAMESPACE: 'pod' }
    const argv = ['--lease=from-flag', '--namespace', 'from-flag']
    const { lease, ops, logLevel } = resolve({ env, argv, lease: { name: 'from-code' } })
    expect(lease).toMatchObject({ name: 'from-code', namespace: 'from-flag' })
    expect(ops?.port).toBe(1)
    expect(logLevel).toBe('info')
  })

  it('leave flags alone that are not of Tenure', () => {
    expect(resolve({ argv: ['serve', '--verbose', '--lease', 'x', '-p', '1'] }).lease.name).toBe('janitor')
  })

  it('add up the feature gates of all places', () => {
    const env = { TENURE_FEATURE_GATES: 'GracefulLeaderTransition=false,ReleaseLockOnExit=false' }
    const { featureGates } = resolve({ env, argv: ['--feature-gates=ReleaseLockOnExit=true'] })
    expect(featureGates).toEqual({ GracefulLeaderTransition: false, ReleaseLockOnExit: true })
    const argv = ['--feature-gates=GracefulLeaderTransition=true']
    expect(resolve({ env, argv, featureGates: { ReleaseLockOnExit: true } }).featureGates).toEqual({
      GracefulLeaderTransition: true,
      ReleaseLockOnExit: true,
    })
  })

  it('take the flags from what follows the script on the command line, where no arguments are given', () => {
    const { argv } = process
    onTestFinished(() => void (process.argv = argv))
    process.argv = ['node', '--zone=script', '--revision=first']
    const { revision, zone } = resolveOptions({ env: {}, lease: { name: 'janitor' } })
    expect({ revision, zone }).toEqual({ revision: 'first', zone: undefined })
  })

  it.each([
    ['the option', { revision: 'a', argv: ['--revision=b'], env: { TENURE_REVISION: 'c' } }, 'a'],
    ['the flag', { argv: ['--revision=b'], env: { TENURE_REVISION: 'c' } }, 'b'],
    ['the environment', { env: { TENURE_REVISION: 'c', POD_NAME: 'web-6d4cf56db6-x7k2p' } }, 'c'],
    [
      'the name of a Pod of a Deployment',
      { env: { TENURE_REVISION: '', POD_NAME: 'web-6d4cf56db6-x7k2p' } },
      '6d4cf56db6',
    ],
    // The manager refuses it.
    ['the option, whatever it is', { revision: null as never, env: { TENURE_REVISION: 'c' } }, null],
    ['nothing for a Pod of a StatefulSet', { env: { POD_NAME: 'web-0' } }, undefined],
    ['nothing for a name that only looks similar', { env: { POD_NAME: 'web-abcdefgh-12345' } }, undefined],
  ])('take the revision from %s', (_, options, revision) => {
    expect(resolve(options).revision).toBe(revision)
  })

  it.each<[string, Parameters<typeof resolve>[0], unknown]>([
    ['the option', { zone: 'a', argv: ['--zone=b'], env: { TENURE_ZONE: 'c' } }, 'a'],
    ['the flag', { argv: ['--zone=b'], env: { TENURE_ZONE: 'c' } }, 'b'],
    ['the environment', { env: { TENURE_ZONE: 'c' } }, 'c'],
    ['nowhere, as from a Pod without the label', { env: { TENURE_ZONE: '' } }, undefined],
    ['the option, whatever it is', { zone: null as never, env: { TENURE_ZONE: 'c' } }, null],
  ])('take the zone from %s', (_, options, zone) => {
    expect(resolve(options).zone).toBe(zone)
  })

  it.each(['web:1', 'web/1', '.', '..', 'a'.repeat(254), 'ünïcode'])(
    'refuse the identity `%s`, which is no name of a LeaseCandidate, unless the replicas decide',
    (identity) => {
      const lease = { name: 'janitor', strategy: 'OldestEmulationVersion', binaryVersion: '1.4.0' } as const
      expect(() => resolve({ identity, lease })).toThrow(
        /Expected `identity` to name a LeaseCandidate.*coordination: 'peers'/,
      )
      expect(resolve({ identity, lease: { ...lease, coordination: 'peers' } }).identity).toBe(identity)
      expect(resolve({ identity }).identity).toBe(identity)
    },
  )

  it.each(['a', '.a', '..a', '...', 'Web-1_x.Y', 'a'.repeat(253)])(
    'take the identity `%s` for that of a candidate',
    (identity) => {
      const lease = { name: 'janitor', strategy: 'OldestEmulationVersion', binaryVersion: '1.4.0' } as const
      expect(resolve({ identity, lease }).identity).toBe(identity)
    },
  )

  it('leave the identity of a replica to a lock of its own, whatever the strategy', () => {
    const lease = { name: 'janitor', strategy: 'OldestEmulationVersion', binaryVersion: '1.4.0' } as const
    const lock = () => new MemoryLeaseStore().lock('x')
    expect(resolve({ identity: 'web:1', lease, lock }).identity).toBe('web:1')
  })

  it('make an identity that is unique to the start of the process', () => {
    const env = { POD_NAME: 'janitor-0' }
    expect(resolve({ env }).identity).toMatch(/^janitor-0_[0-9a-f-]{36}$/)
    expect(resolve({ env }).identity).not.toBe(resolve({ env }).identity)
  })

  it('pass over the variables that Kubernetes makes for a Service named tenure', () => {
    const env = {
      TENURE_SERVICE_HOST: '10.0.0.1',
      TENURE_PORT_8080_TCP_ADDR: '10.0.0.1',
      TENURE_PORT: 'tcp://10.0.0.1:80',
    }
    expect(resolve({ env }).lease.name).toBe('janitor')
  })

  it('read every setting from its flag and from its variable', () => {
    const values = {
      lease: 'a',
      namespace: 'b',
      identity: 'c',
      revision: 'd',
      zone: 'e',
      featureGates: 'ReleaseLockOnExit=true',
      opsPort: '8080',
      logLevel: 'warn',
    }
    const names = {
      lease: ['--lease', 'TENURE_LEASE'],
      namespace: ['--namespace', 'TENURE_NAMESPACE'],
      identity: ['--identity', 'TENURE_IDENTITY'],
      revision: ['--revision', 'TENURE_REVISION'],
      zone: ['--zone', 'TENURE_ZONE'],
      featureGates: ['--feature-gates', 'TENURE_FEATURE_GATES'],
      opsPort: ['--ops-port', 'TENURE_OPS_PORT'],
      logLevel: ['--log-level', 'TENURE_LOG_LEVEL'],
    } as const satisfies Record<keyof typeof values, readonly [string, string]>
    const each = Object.entries(names).map(([key, [flag, variable]]) => ({
      flag,
      variable,
      value: Reflect.get(values, key),
    }))
    const argv = each.map(({ flag, value }) => `${flag}=${value}`)
    const env = Object.fromEntries(each.map(({ variable, value }) => [variable, value]))
    expect(readFlags([...argv, '--kubeconfig=/x'])).toEqual({ ...values, kubeconfig: '/x' })
    expect(readFlags([...argv, '--kubeconfig', '/x'])).toEqual({ ...values, kubeconfig: '/x' })
    expect(readEnvironment(env)).toEqual(values)
    expect(readFlags(argv)).toEqual(values)
    const resolved = {
      lease: { name: 'a', namespace: 'b' },
      identity: 'c',
      revision: 'd',
      zone: 'e',
      featureGates: { ReleaseLockOnExit: true },
      ops: { port: 8080 },
      logLevel: 'warn',
    }
    expect(resolveOptions({ env, argv: [] })).toMatchObject({ ...resolved, kubeConfigPath: undefined })
    expect(resolveOptions({ env: {}, argv: [...argv, '--kubeconfig=/x'] })).toMatchObject({
      ...resolved,
      kubeConfigPath: '/x',
    })
  })

  it('take an empty setting as not given', () => {
    expect(readEnvironment({ TENURE_NAMESPACE: '', TENURE_ZONE: '', POD_NAMESPACE: 'pod' })).toEqual({
      namespace: 'pod',
    })
    expect(readEnvironment({ TENURE_NAMESPACE: 'mine', POD_NAMESPACE: 'pod' })).toEqual({ namespace: 'mine' })
    expect(readEnvironment({ POD_NAMESPACE: '' })).toEqual({})
  })

  it('know the variables that are no settings of the manager', () => {
    expect(readEnvironment({ TENURE_EPOCH: '1', TENURE_DEV: '1', TENURE_TRACE: 'x', OTHER: 'y' })).toEqual({})
  })

  it.each([
    ['TENURE_SERVICE_PORT', '80'],
    ['TENURE_SERVICE_PORT_HTTP', '80'],
    ['TENURE_WEB_PORT', 'tcp://10.0.0.1:80'],
    ['TENURE_WEB_PORT_80_UDP', 'udp://10.0.0.1:80'],
    ['TENURE_WEB_PORT_80_SCTP_PROTO', 'sctp'],
    ['TENURE_WEB_PORT_8080_TCP_PORT', '8080'],
    ['TENURE_WEB_PORT_8080_TCP_ADDR', '10.0.0.1'],
  ])('pass over the variable %s of a Service', (name, value) => {
    expect(readEnvironment({ [name]: value })).toEqual({})
  })

  it.each([
    'TENURE_SERVICE_HOSTS',
    'TENURE_WEB_PORT_X',
    'TENURE_WEB_PORT_80_TCP_NAME',
    'TENURE_WEB_PORT_80_ICMP',
    'TENURE_SERVICE_PORTS',
  ])('do not take %s for one of a Service', (name) => {
    expect(() => readEnvironment({ [name]: 'x' })).toThrow(`\`${name}\``)
  })

  it('take the port of a Service for a setting only if it is none of its addresses', () => {
    expect(resolve({ env: { TENURE_OPS_PORT: 'TCP://10.0.0.1:80' } }).ops).toEqual({})
    expect(() => resolve({ env: { TENURE_OPS_PORT: 'x tcp://10.0.0.1' } })).toThrow('`ops.port`')
  })

  it('give a process that joins `tenure dev` a free port, unless it has one', () => {
    const env = { TENURE_DEV: '1' }
    expect(resolve({ env }).ops).toEqual({ port: 0 })
    expect(resolve({ env: { TENURE_DEV: '1', TENURE_OPS_PORT: '5' } }).ops).toEqual({ port: 5 })
    expect(resolve({ env, ops: { port: 6 } }).ops).toEqual({ port: 6 })
    expect(resolve({ env: { TENURE_DEV: '' } }).ops).toEqual({})
    expect(resolve({ env, ops: false }).ops).toBeUndefined()
    expect(() => resolve({ env: { TENURE_DEV: 'yes' } })).toThrow(
      'Expected `TENURE_DEV` to be `1`, or not set, got `yes` (string)',
    )
  })

  it('name the replica by its Pod or its machine', () => {
    expect(resolve({ env: { POD_NAME: '' } }).identity).toMatch(
      new RegExp(`^${hostname()}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
    )
  })

  it.each([
    ['web-6d4cf56db6-x7k2p', '6d4cf56db6'],
    ['web-6d4cf56d-x7k2p', '6d4cf56d'],
    ['web-6d4cf56-x7k2p', undefined],
    ['web-6d4cf56db6d-x7k2p', undefined],
    ['web-6d4cf56db6-x7k2', undefined],
    ['web-6d4cf56db6-x7k2p-0', undefined],
    ['web-6d4cf56db6-x7k2pp', undefined],
  ])('take the revision of the Pod %s for %s', (name, revision) => {
    expect(resolve({ env: { POD_NAME: name } }).revision).toBe(revision)
  })

  it.each<[string, object, string]>([
    ['events', { events: 1 }, 'Expected `events` to be true or false, got `1` (number)'],
    ['signals', { signals: 'no' }, 'Expected `signals` to be true or false, got `no` (string)'],
    [
      'lease.proveDeath',
      { lease: { name: 'x', proveDeath: 1 } },
      'Expected `lease.proveDeath` to be true or false, got `1` (number)',
    ],
    ['featureGates', { featureGates: 'x' }, 'Expected `featureGates` to be an object, got `x` (string)'],
    ['env', { env: null }, 'Expected `env` to be an object, got `null`'],
    ['argv', { argv: '--lease=x' }, 'Expected `argv` to be an array, got `--lease=x` (string)'],
    ['ops', { ops: true }, 'Expected `ops` to be an object such as `{ port: 8080 }`, or false, got `true` (boolean)'],
    ['identity', { identity: 7 }, 'Expected `identity` to be a text that is not empty, got `7` (number)'],
    [
      'the port of the operations',
      { env: { TENURE_OPS_PORT: '80a' } },
      'Expected `ops.port` to be a TCP port between 0 and 65535, got `80a` (string)',
    ],
    [
      'logLevel',
      { logLevel: 'loud' },
      'Expected `logLevel` to be one of debug, info, warn, error, silent, got `loud` (string)',
    ],
    ['lease', { lease: {} }, 'Expected the name of a lease in `lease.name`, `--lease` or `TENURE_LEASE`, got none'],
    ['a flag', { argv: ['--zone'] }, 'Expected flag `--zone` to have a value, as in `--zone=VALUE`'],
    ['a variable', { env: { TENURE_X: '' } }, 'Unknown option `TENURE_X` in the environment'],
  ])('refuse a wrong %s with one clear message', (_what, options, message) => {
    expect(() => resolve(options as CreateManagerOptions)).toThrow(message)
  })

  it.each(['port', 'host', 'registries', 'checkTimeoutMs', 'processMetrics', 'clock'])(
    'say that `%s` belongs to the operations port',
    (name) => {
      expect(() => resolve({ [name]: 1 })).toThrow(
        `Unknown option \`${name}\` in \`createManager()\`: it belongs in \`ops\`, as \`ops.${name}\``,
      )
    },
  )

  it.each(['lease', 'zone', 'rollout', 'onWedged', 'restart', 'groups', 'watchdog', 'lock', 'argv'])(
    'know the option `%s`',
    (name) => {
      expect(() => resolve({ [`${name}Q`]: 1 })).toThrow(`did you mean \`${name}\`?`)
    },
  )

  it.each(['debug', 'info', 'warn', 'error', 'silent'])('know the level %s', (logLevel) => {
    expect(resolve({ logLevel }).logLevel).toBe(logLevel)
  })

  it('leave the name and the labels of a lease to a lock of its own', () => {
    const lock = () => new MemoryLeaseStore().lock('x')
    expect(resolve({ lock, lease: { name: 'Any name!', namespace: 'a.b' } }).lease).toEqual({
      name: 'Any name!',
      namespace: 'a.b',
    })
  })

  it.each<[string, CreateManagerOptions]>([
    ['lease.proveDeath', { lease: { name: 'x', proveDeath: true } }],
    [
      "lease.coordination: 'server'",
      { lease: { name: 'x', strategy: 'OldestEmulationVersion', binaryVersion: '1.0.0', coordination: 'server' } },
    ],
    ['--kubeconfig', { argv: ['--kubeconfig=/x'] }],
  ])('refuse %s beside a lock of its own, but not the same switched off', (name, options) => {
    const lock = () => new MemoryLeaseStore().lock('x')
    expect(() => resolve({ ...options, lock })).toThrow(
      `Expected either \`lock\` or \`${name}\`, which is about leases in a cluster, got both`,
    )
    expect(() => resolve({ lease: { name: 'x', proveDeath: false }, events: false, lock })).not.toThrow()
  })

  it.each<[string, CreateManagerOptions, RegExp]>([
    ['an unknown option', { leese: {} } as CreateManagerOptions, /Unknown option `leese`.*did you mean `lease`/],
    ['an unknown option of the lease', { lease: { nam: 'x' } as never }, /`nam`.*did you mean `name`/],
    ['an unknown variable', { env: { TENURE_LEASES: 'x' } }, /`TENURE_LEASES`.*did you mean `TENURE_LEASE`/],
    [
      'an unknown gate',
      { argv: ['--feature-gates=GracefulLeader=true'] },
      /`GracefulLeader`.*GracefulLeaderTransition/,
    ],
    ['a gate that is neither on nor off', { argv: ['--feature-gates=ReleaseLockOnExit=yes'] }, /ReleaseLockOnExit=yes/],
    ['a flag without a value', { argv: ['--lease'] }, /`--lease`/],
    ['no lease', { lease: {} }, /TENURE_LEASE/],
    ['a bad lease name', { lease: { name: 'Janitor!' } }, /`lease.name`.*`Janitor!`/],
    ['a bad namespace', { lease: { name: 'x', namespace: 'a.b' } }, /`lease.namespace`.*`a.b`/],
    ['a bad label', { lease: { name: 'x', labels: { team: 'a b' } } }, /`lease.labels\['team'\]`.*`a b`/],
    ['an empty identity', { identity: ' ' }, /`identity`/],
    ['a port that is no number', { env: { TENURE_OPS_PORT: 'http' } }, /`ops.port`.*`http`/],
    ['an unknown log level', { logLevel: 'loud' }, /`logLevel`.*`loud`/],
  ])('refuse %s', (_what, options, message) => {
    expect(() => resolve(options)).toThrow(OptionsError)
    expect(() => resolve(options)).toThrow(message)
  })
})
