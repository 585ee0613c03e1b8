import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { CertificateAuthority, formatKubeConfig } from '@tenure/api-server/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run, TestCluster, until } from './support/command.ts'
import { Replicas } from './support/replicas.ts'

let cluster: TestCluster
let other: Server
let otherPath = ''
/** Of a server that does not run. */
let downPath = ''

beforeAll(async () => {
  cluster = await TestCluster.start()
  otherPath = cluster.pathOf('other.yaml')
  const authority = CertificateAuthority.create('other')
  other = createServer(authority.issueServerCertificate(['127.0.0.1']), ({ url }, response) => {
    response.end(JSON.stringify(url === '/version' ? { gitVersion: 'v1.36.3' } : {}))
  })
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  const url = `https://127.0.0.1:${(other.address() as AddressInfo).port}`
  const content = { url, caCert: authority.root.cert, user: 'admin', credential: { token: 'secret' } }
  await writeFile(otherPath, formatKubeConfig(content))
  downPath = cluster.pathOf('down.yaml')
  await writeFile(downPath, formatKubeConfig({ ...content, url: 'https://127.0.0.1:1' }))
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  other.closeAllConnections()
  await new Promise((resolve) => other.close(resolve))
})

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

  test('kills a leader by the deletion of its Pod, and says that nobody leads in time', async () => {
    cluster.putLease('killed', { holderIdentity: 'web-1_a' })
    cluster.put({ group: '', resource: 'pods', namespace: 'ops', name: 'web-1' }, { apiVersion: 'v1', kind: 'Pod' })
    const flags = ['--kill', '--times', '1', '--timeout', '50ms', ...FAST, '--kubeconfig', cluster.kubeConfigPath()]
    const { out, err, code } = await run(['chaos', 'killed', ...flags], { random: () => 0 })
    expect([code, out]).toEqual([1, 'Deleted the Pod web-1 of web-1_a without a grace period.\n'])
    expect(err).toMatch(/^Nobody has acquired ops\/killed within \d+ms\.\n$/)
    const ref = { collection: 'pods', namespace: 'ops', name: 'web-1' }
    expect(cluster.server.store.get(ref)).toBeUndefined()
  })

  test('reports a lease that nobody holds with code 1', async () => {
    cluster.putLease('free', { holderIdentity: '' })
    const { err, code } = await cluster.tenure(['chaos', 'free', '--times', '1', ...FAST])
    expect([code, err]).toEqual([1, 'Nobody holds ops/free.\n'])
  })

  test('refuses a cluster that is not the embedded one without --yes', async () => {
    const { out, err, code } = await run(['chaos', 'janitor', '--kubeconfig', otherPath, ...FAST])
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/^Expected `--yes`, because https:\S+ is not the API server of `tenure dev`\n$/)
  })

  test('says in one line that the server cannot be reached', async () => {
    const { err, code } = await run(['chaos', 'free', '--kubeconfig', downPath, ...FAST])
    expect(code).toBe(1)
    expect(err).toMatch(/^Could not get path \/version: no connection to https:\/\/127\.0\.0\.1:1 .*\n$/)
  })

  test('refuses a number of times that is none', async () => {
    const { err, code } = await cluster.tenure(['chaos', 'free', '--times', '0', ...FAST])
    expect([code, err]).toEqual([2, 'Expected `--times` to be a whole number from 1, got `0`\n'])
  })
})
