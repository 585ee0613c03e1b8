import { OptionsError } from '@tenure/core'
import { describe, expect, it } from 'vitest'
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
