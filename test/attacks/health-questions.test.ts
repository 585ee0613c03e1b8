/** Attacks through the operations port, and leftovers of a server on a laptop. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLeaseStore, type Logger } from '@tenure/core'
import { Controller, createManager, type Term } from 'tenure'
import { expect, onTestFinished, test } from 'vitest'

class Sick extends Controller {
  readonly name = 'sick'
  async run(term: Term): Promise<void> {
    term.health.register('disk', () => {
      throw new Error('full')
    })
    if (!term.signal.aborted) await once(term.signal, 'abort')
  }
}

test('a question with `?exclude=` writes no line, and a lease of 253 characters has its own path', async () => {
  const lines: string[] = []
  const listening = Promise.withResolvers<number>()
  const write = (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push(`${String(fields['event'])}: ${message}`)
    if (fields['event'] === 'ops-listening') listening.resolve(Number(fields['port']))
  }
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger }
  const store = new MemoryLeaseStore()
  const manager = createManager({
    lease: { name: 'l'.repeat(253) },
    lock: ({ name }) => store.lock(name),
    ops: { port: 0, host: '127.0.0.1' },
    signals: false,
    logger,
    env: {},
    argv: [],
  })
  manager.register(() => new Sick())
  manager.candidacy({ name: 'm'.repeat(253) }).register(() => new Sick())
  const began = new Promise<void>((resolve) => {
    let terms = 0
    manager.on((event) => event.kind === 'term-began' && ++terms === 2 && resolve())
  })
  const ended = manager.start()
  const port = await listening.promise
  await began
  const get = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: answer.status, body: await answer.text() }
  }
  const { body } = await get('/livez?verbose')
  const names = [...body.matchAll(/^\[[+-]\](\S+)/gm)].map(([, name]) => name ?? '')
  const own = names.filter((name) => name.length >= 253)
  expect(own.length).toBeGreaterThan(0)
  for (const name of names) expect([200, 500]).toContain((await get(`/livez/${encodeURIComponent(name)}`)).status)
  const before = lines.length
  for (let round = 0; round < 50; round++) {
    await get('/livez')
    for (const name of names) await get(`/livez?exclude=${encodeURIComponent(name)}`)
    await get(`/readyz?exclude=${'x'.repeat(1000)}`)
  }
  expect(lines.slice(before).filter((line) => /^(health|ops)/.test(line))).toEqual([])
  await manager.stop()
  await ended
})

test('`tenure dev` lets nobody else read the key of its administrator, and takes it along when it ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-dev-'))
  onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 5 }))
  const path = join(folder, 'kubeconfig')
  writeFileSync(path, 'apiVersion: v1\n', { mode: 0o644 })
  const main = join(import.meta.dirname, '../../packages/cli/src/main.ts')
  const child = spawn(process.execPath, ['--conditions=@tenure/source', main, 'dev', '--kubeconfig', path])
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  while (!output.includes('Ctrl-C')) await once(child.stdout, 'data')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  child.kill('SIGTERM')
  await once(child, 'close')
  expect(() => statSync(path)).toThrow('ENOENT')
})
