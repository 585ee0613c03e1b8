import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestCluster, until } from './support/command.ts'
import { Replicas } from './support/replicas.ts'

let cluster: TestCluster

beforeAll(async () => void (cluster = await TestCluster.start()))
afterAll(() => cluster[Symbol.asyncDispose]())

describe('tenure explain', () => {
  test('says that nobody holds a lease', async () => {
    cluster.putLease('free', { holderIdentity: '' })
    const { out, code } = await cluster.tenure(['explain', 'free', '-n', 'ops'])
    expect([code, out]).toEqual([
      0,
      'Nobody holds the lease. The first replica that sees this may acquire it.\nThe lease lists no standby.\n',
    ])
  })

  test('says of a lease that has expired what that means, and that its holder is no replica of Tenure', async () => {
    const time = '2020-01-01T00:00:00.000000Z'
    cluster.putLease('dead', {
      holderIdentity: 'web-1_a',
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
    })
    const { out } = await cluster.tenure(['explain', 'dead', '-n', 'ops'])
    expect(out).toMatch(/It expired \S+ ago, counted from its last renewal, by the clock of the holder/)
    expect(out).toContain('it is no replica of Tenure, and ignores requests to step down.')
    expect(out).toContain('web-1_a: there is no Pod web-1, so it does not run as one, or has ended.\n')
  })

  test('says that the holder drains, to whom it offers the lease, and who tries first', async () => {
    await using replicas = new Replicas()
    const { promise, resolve } = Promise.withResolvers<void>()
    const kubeConfigPath = cluster.kubeConfigPath()
    const first = replicas.start({ kubeConfigPath, identity: 'first_1', stubborn: promise })
    await until(() => first.state.kind === 'leading')
    const second = replicas.start({ kubeConfigPath, identity: 'second_1' })
    await until(() => second.candidacies[0]?.standing === 'standing')
    await cluster.tenure(['transfer', 'janitor', '-n', 'ops', '--to', 'second', '--timeout', '1s'])
    const { out } = await cluster.tenure(['explain', 'janitor', '-n', 'ops', '--no-replicas'])
    resolve()
    expect(out).toContain('Somebody requested that it is handed over to second_1.\n')
    expect(out).toContain('the holder waits for its tasks and then hands the lease to second_1.\n')
    expect(out).toContain('If the holder ends, second_1 tries first (of second_1).\n')
  })
})
