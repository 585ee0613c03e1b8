import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestCluster, until } from './support/command.ts'
import { Replicas } from './support/replicas.ts'

let cluster: TestCluster

beforeAll(async () => void (cluster = await TestCluster.start()))
afterAll(() => cluster[Symbol.asyncDispose]())

const FAST = ['--every', '1ms', '-n', 'ops']

describe('tenure chaos', () => {
  test('ends leaders politely as often as it should, and another replica leads each time', async () => {
    await using replicas = new Replicas()
    const kubeConfigPath = cluster.kubeConfigPath()
    const first = replicas.start({ kubeConfigPath, identity: 'first_1' })
    await until(() => first.state.kind === 'leading')
    const second = replicas.start({ kubeConfigPath, identity: 'second_1' })
    await until(() => second.candidacies[0]?.standing === 'standing')
    const { out, err, code } = await cluster.tenure(['chaos', 'janitor', '--times', '2', ...FAST])
    expect([code, err]).toEqual([0, ''])
    expect(out.match(/The handover took/g)).toHaveLength(2)
    expect(out).toMatch(/second_1 leads\.[^]*first_1 leads\./)
  })

  test('reports a lease that nobody holds with code 1', async () => {
    cluster.putLease('free', { holderIdentity: '' })
    const { err, code } = await cluster.tenure(['chaos', 'free', '--times', '1', ...FAST])
    expect([code, err]).toEqual([1, 'Nobody holds ops/free.\n'])
  })

  test('refuses a number of times that is none', async () => {
    const { err, code } = await cluster.tenure(['chaos', 'free', '--times', '0', ...FAST])
    expect([code, err]).toEqual([2, 'Expected `--times` to be a whole number from 1, got `0`\n'])
  })
})
