import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run, startCommand, TestCluster, until } from './support/command.ts'

let cluster: TestCluster

beforeAll(async () => {
  cluster = await TestCluster.start({ users: [{ name: 'nobody', token: 'secret' }] })
  const now = new Date().toISOString().replace('Z', '000Z')
  cluster.putLease('janitor', {
    holderIdentity: 'web-1_a',
    leaseDurationSeconds: 15,
    acquireTime: now,
    renewTime: now,
    leaseTransitions: 3,
  })
  cluster.putLease('free', { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: now, renewTime: now })
  cluster.putLease('odd', { holderIdentity: 'web-2\u001b[2J' })
})
afterAll(() => cluster[Symbol.asyncDispose]())

describe('tenure status', () => {
  test('shows the leases of every client, with what is malformed, and lets no text control the terminal', async () => {
    const { out, err, code } = await cluster.tenure(['status', '-n', 'ops'])
    expect([code, err]).toEqual([0, ''])
    const [titles, ...rows] = out.trimEnd().split('\n')
    expect(titles).toMatch(/^LEASE +HOLDER +EPOCH +AGE +EXPIRES +STANDBYS +CANDIDATES +FENCES +CHANGES\/1H +PROBLEMS$/)
    expect(rows.map((row) => row.split(/ {3,}/).slice(0, 2))).toEqual([
      ['free', '-'],
      ['janitor', 'web-1_a'],
      ['odd', 'web-2'],
    ])
    expect(rows[2]).toContain('states no duration, so it never expires for some clients; states no renew time')
  })

  test('prints JSON and YAML for programs', async () => {
    const json = await cluster.tenure(['status', 'janitor', '-n', 'ops', '-o', 'json'])
    expect(JSON.parse(json.out)).toMatchObject([
      {
        name: 'janitor',
        holder: 'web-1_a',
        transitions: 3,
        client: 'other',
        expiry: 'holder-clock',
        changesLastHour: 0,
      },
    ])
    const yaml = await cluster.tenure(['status', 'janitor', '-n', 'ops', '-o', 'yaml'])
    expect(yaml.out).toContain('holder: web-1_a\n')
  })

  test('shows one block for each lease where the terminal is narrow, and cuts every line', async () => {
    const path = cluster.kubeConfigPath()
    const { out } = await run(['status', '-n', 'ops', '--kubeconfig', path], { columns: 40 })
    const lines = out.split('\n')
    expect(lines).toContain('HOLDER     web-1_a')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40)
  })

  test('names the nearest leases where one is not known', async () => {
    const { err, code } = await cluster.tenure(['status', 'janiter', '-n', 'ops'])
    expect([code, err]).toEqual([
      1,
      'The lease ops/janiter does not exist; did you mean `janitor` or `free` or `odd`?\n',
    ])
  })

  test('names the namespace where the lease is in another one', async () => {
    const { err } = await cluster.tenure(['status', 'janitor'])
    expect(err).toBe('The lease default/janitor does not exist, but there is one in the namespace ops.\n')
  })

  test('names the verb that the user lacks', async () => {
    const { err, code } = await cluster.tenure(['status', '-n', 'ops'], 'nobody')
    expect(code).toBe(1)
    expect(err).toContain('must grant the verb "list" on the resource "leases"')
    expect(err.trimEnd()).not.toContain('\n')
  })

  test('says that there is no cluster, or no such context', async () => {
    const none = await run(['status'], { env: { HOME: '/nonexistent' } })
    expect([none.code, none.out]).toEqual([1, ''])
    expect(none.err).toContain('Found no kubeconfig')
    const wrong = await cluster.tenure(['status', '--context', 'prod'])
    expect(wrong.err).toMatch(/^The kubeconfig has no context `prod`\. It has: .+\n$/)
  })

  test('with --watch prints a line for each change of a holder, until it is interrupted', async () => {
    const path = cluster.kubeConfigPath()
    const command = startCommand(['status', '-n', 'ops', '--watch', '-o', 'json', '--kubeconfig', path])
    await until(() => command.printed.out.includes('"odd"'))
    cluster.putLease('later', { holderIdentity: 'web-3', leaseDurationSeconds: 15 })
    await until(() => command.printed.out.includes('web-3'))
    command.interrupt()
    expect((await command.done).code).toBe(0)
  })

  test('with --watch draws a terminal again, and says when the API server went away and came back', async () => {
    const path = cluster.kubeConfigPath()
    const command = startCommand(['status', '-n', 'ops', '--watch', '--kubeconfig', path], { columns: 200 })
    await until(() => command.printed.out.includes('\u001b[H\u001b[J'))
    const outage = cluster.server.faults.add({ match: { resource: 'leases' }, effect: { kind: 'answer', status: 503 } })
    cluster.server.faults.closeWatches({ abruptly: true })
    await until(() => command.printed.err.includes('Lost the API server and tries again'))
    outage.remove()
    await until(() => command.printed.err.includes('The API server answers again.'))
    command.interrupt()
    expect((await command.done).code).toBe(0)
  })
})
