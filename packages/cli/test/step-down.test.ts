import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCommand, TestCluster, until } from './support/command.ts'
import { Replicas } from './support/replicas.ts'

const RBAC = 'rbac.authorization.k8s.io'
let cluster: TestCluster
let path = ''

beforeAll(async () => {
  cluster = await TestCluster.start({ users: [{ name: 'operator', token: 'secret' }] })
  path = cluster.kubeConfigPath()
  allow(['patch'])
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** Gives the operator these verbs on the lease, and no others. */
function allow(verbs: readonly string[]): void {
  const put = (resource: string, object: Readonly<Record<string, unknown>>): void =>
    cluster.put({ group: RBAC, resource, namespace: 'ops', name: 'operator' }, { apiVersion: `${RBAC}/v1`, ...object })
  const rule = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: ['janitor'], verbs }
  put('roles', { kind: 'Role', rules: [rule] })
  put('rolebindings', {
    kind: 'RoleBinding',
    roleRef: { apiGroup: RBAC, kind: 'Role', name: 'operator' },
    subjects: [{ kind: 'User', name: 'operator', apiGroup: RBAC }],
  })
}

/** Two replicas. The first leads, and the second is its standby. */
async function pair(stubborn?: Promise<void>): Promise<Replicas> {
  const replicas = new Replicas()
  const first = replicas.start({ kubeConfigPath: path, identity: 'first_1', ...(stubborn && { stubborn }) })
  await until(() => first.state.kind === 'leading')
  const second = replicas.start({ kubeConfigPath: path, identity: 'second_1' })
  await until(() => second.candidacies[0]?.standing === 'standing')
  return replicas
}

describe('tenure step-down', () => {
  test('asks the leader, waits, and says who leads; the right to patch the lease is enough', async () => {
    await using replicas = await pair()
    const { out, err, code } = await cluster.tenure(['step-down', 'janitor', '-n', 'ops'], 'operator')
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(/^Asked first_1 to hand ops\/janitor over\.\n/)
    expect(out).toMatch(/first_1 (released|transferred) ops\/janitor, and second_1 leads\. The handover took \S+\.\n$/)
    expect(replicas.managers.map(({ state }) => state.kind)).toEqual(['following', 'leading'])
  })

  test('says that the leader still drains when time runs out, and leaves the request', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await using _ = await pair(promise)
    const { err, out, code } = await cluster.tenure(['step-down', 'janitor', '-n', 'ops', '--timeout', '1s'])
    resolve()
    expect([code, out]).toEqual([1, expect.stringContaining('first_1 drains its term.\n')])
    expect(err).toContain('first_1 still drains. It hands ops/janitor over when its tasks have ended.')
  })

  test('withdraws its request from a leader that does not answer', async () => {
    cluster.putLease('foreign', {
      holderIdentity: 'other',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
    })
    const { err, code } = await cluster.tenure(['step-down', 'foreign', '-n', 'ops', '--timeout', '300ms'])
    expect([code, err]).toEqual([1, expect.stringContaining('other did not answer, so the request is withdrawn.')])
    expect(cluster.lease('foreign')?.metadata.annotations ?? {}).toEqual({})
  })

  test.each([
    ['free', { holderIdentity: '' }, 'Nobody holds the lease ops/free'],
    ['timeless', { holderIdentity: 'x' }, 'The lease ops/timeless states no acquire time'],
  ])('refuses the lease %s', async (name, spec, message) => {
    cluster.putLease(name, spec)
    const { err, code } = await cluster.tenure(['step-down', name, '-n', 'ops'])
    expect([code, err]).toEqual([1, expect.stringContaining(message)])
  })

  test.each(['step-down', 'status', 'explain', 'watch'])('%s refuses a lease without a name', async (command) => {
    const { err, out, code } = await cluster.tenure([command, '', '-n', 'ops'])
    expect([code, out, err]).toEqual([2, '', 'Expected the name of a lease, got an empty text\n'])
  })

  test('names the verb that the user lacks, and a duration that is none', async () => {
    const denied = await cluster.tenure(['step-down', 'foreign', '-n', 'ops'], 'operator')
    expect([denied.code, denied.err]).toEqual([1, expect.stringContaining('must grant the verb "get"')])
    const wrong = await cluster.tenure(['step-down', 'janitor', '--timeout', 'soon'])
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('Expected `--timeout` to be a duration')])
  })
})

describe('tenure transfer', () => {
  test('hands over to the replica that it names, also by its Pod', async () => {
    await using replicas = await pair()
    const { out, code } = await cluster.tenure(['transfer', 'janitor', '-n', 'ops', '--to', 'second'])
    expect([code, out]).toEqual([0, expect.stringMatching(/first_1 transferred ops\/janitor, and second_1 leads\./)])
    expect(replicas.managers[1]?.state.kind).toBe('leading')
  })

  test('leaves the leader in office if the named replica does not answer', async () => {
    await using replicas = await pair()
    const { err, code } = await cluster.tenure(['transfer', 'janitor', '-n', 'ops', '--to', 'third_1'])
    expect(code).toBe(1)
    expect(err).toContain('Warning: the lease does not list third_1 among its standbys. Did you mean `second_1`?')
    expect(err).toContain('first_1 leads on: third_1 did not answer its offer of ops/janitor.')
    expect(replicas.managers[0]?.state.kind).toBe('leading')
    expect(cluster.lease('janitor')?.metadata.annotations).not.toHaveProperty('tenure.dev/step-down-request')
  })

  test.each(['', ' '])('refuses the identity `%s`, and asks for nothing', async (to) => {
    const { err, out, code } = await cluster.tenure(['transfer', 'foreign', '-n', 'ops', '--to', to])
    expect([code, out, err]).toEqual([2, '', `Expected \`--to\` to be the identity of a replica, got \`${to}\`\n`])
  })

  test('refuses the leader itself', async () => {
    const { err, code } = await cluster.tenure(['transfer', 'foreign', '-n', 'ops', '--to', 'other'])
    expect([code, err]).toEqual([2, 'Expected `--to` to be another replica than the leader, got `other`\n'])
  })
})

test('A command that is interrupted ends with code 130', async () => {
  const command = startCommand(['step-down', 'foreign', '-n', 'ops', '--kubeconfig', path])
  await until(() => command.printed.out.includes('Asked other'))
  command.interrupt()
  expect((await command.done).code).toBe(130)
})
