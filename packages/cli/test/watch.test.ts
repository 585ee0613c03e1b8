import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WatchLog } from '../src/watch/watch-log.ts'
import { run, startCommand, TestCluster, until } from './support/command.ts'
import { Replicas } from './support/replicas.ts'

let cluster: TestCluster
let recording = ''
let broken = ''

beforeAll(async () => {
  cluster = await TestCluster.start()
  recording = cluster.pathOf('recording.jsonl')
  broken = cluster.pathOf('broken.jsonl')
  await writeFile(recording, '')
  await writeFile(broken, 'now!\n')
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** What is printed for these states of a lease, with its annotations, one second after the other. */
function printedFor(specs: readonly (Readonly<Record<string, unknown>> | undefined)[]): readonly string[] {
  const lines: string[] = []
  const log = new WatchLog((line) => lines.push(line.trimEnd().split('  ')[2] ?? ''))
  specs.forEach((given, second) => {
    const { annotations, ...spec } = given ?? {}
    const at = new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString()
    const metadata = { namespace: 'ops', name: 'janitor', resourceVersion: String(100 + second), annotations }
    log.take({ at, lease: 'ops/janitor', ...(given && { object: { metadata, spec } }) })
  })
  return lines
}

const HELD = { leaseDurationSeconds: 3, acquireTime: 't1', renewTime: 'r1' }

describe('tenure watch', () => {
  test('tells of a request, and that the leader declines it', () => {
    const held = { ...HELD, holderIdentity: 'a' }
    const of = { holder: 'a', of: 't1' }
    const note = (text: object): Readonly<Record<string, string>> => ({
      'tenure.dev/step-down-request': JSON.stringify({ ...of, ...text }),
    })
    const answered = (text: string): Readonly<Record<string, string>> => ({ 'tenure.dev/step-down-answer': text })
    expect(
      printedFor([
        held,
        { ...held, renewTime: 'r2', annotations: note({ id: 'r1', to: 'x' }) },
        { ...held, renewTime: 'r3', annotations: answered('r1 declined') },
        { ...held, renewTime: 'r4', annotations: { ...answered('r1 declined'), ...note({ id: 'r2', to: 'y' }) } },
        { ...held, renewTime: 'r5', annotations: answered('r1 declined') },
      ]),
    ).toEqual([
      'is held by a',
      'is to be handed over to x, as somebody requested',
      'a leads on, because x did not answer its offer',
      'is to be handed over to y, as somebody requested',
    ])
  })

  test('tells of acquisitions, gaps, releases, takeovers and expiries', () => {
    expect(
      printedFor([
        { holderIdentity: '' },
        { ...HELD, holderIdentity: 'a' },
        { holderIdentity: '' },
        { ...HELD, holderIdentity: 'b' },
        { ...HELD, holderIdentity: 'b', renewTime: 'r2' },
        { ...HELD, holderIdentity: 'b', renewTime: 'r2' },
        { ...HELD, holderIdentity: 'b', renewTime: 'r2' },
        { ...HELD, holderIdentity: 'b', renewTime: 'r2' },
        { ...HELD, holderIdentity: 'c', acquireTime: 't2' },
        undefined,
      ]),
    ).toEqual([
      'has no holder',
      'a acquired it (epoch 101)',
      'a released it after 1s',
      'b acquired it (epoch 103), gap 1s',
      'expired: b has not renewed it for 3s',
      'c took it over from b after 5s (epoch 108), 4s after the last renewal',
      'was deleted while c held it',
    ])
  })

  test('prints and records a handover of two replicas, and replay prints the same', async () => {
    await using replicas = new Replicas()
    const kubeConfigPath = cluster.kubeConfigPath()
    const first = replicas.start({ kubeConfigPath, identity: 'first_1' })
    await until(() => first.state.kind === 'leading')
    const second = replicas.start({ kubeConfigPath, identity: 'second_1' })
    await until(() => second.candidacies[0]?.standing === 'standing')
    const args = ['watch', 'janitor', '-n', 'ops', '--kubeconfig', kubeConfigPath, '--record', recording]
    const watch = startCommand(args)
    await until(() => watch.printed.out.includes('is held by first_1'))
    await cluster.tenure(['step-down', 'janitor', '-n', 'ops'])
    await until(() => /second_1 acquired it|transferred it to second_1/.test(watch.printed.out))
    watch.interrupt()
    const { out, code } = await watch.done
    expect(code).toBe(0)
    expect(out).toContain('ops/janitor  is to be handed over, as somebody requested\n')
    const replayed = await run(['replay', recording])
    expect(replayed).toEqual({ out, err: '', code: 0 })
    expect((await readFile(recording, 'utf8')).split('\n').length).toBeGreaterThan(3)
  })

  test('names a lease that is not there, a recording that is none, and a file that cannot be written', async () => {
    const unknown = await cluster.tenure(['watch', 'absent', '-n', 'none'])
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('The lease none/absent does not exist')])
    const none = await run(['replay', broken])
    expect([none.code, none.err]).toEqual([1, `Could not replay ${broken}: line 1 is no sighting of a lease.\n`])
    const unwritable = await cluster.tenure(['watch', '--record', '/nonexistent/file'])
    expect(unwritable.err).toContain('Choose a writable path with `--record`.')
  })
})
