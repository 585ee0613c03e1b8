import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createManager, MemoryLeaseStore } from 'tenure'
import { checkLines } from '../../../test/traces/check-lines.ts'
import { actIn, type Lines } from '../../../test/traces/corruption.ts'
import { CORRUPTIONS } from '../../../test/traces/corruptions.ts'
import { FLEET_KINDS } from '../../../test/traces/fleet-kinds.ts'
import { traceFleet } from '../../../test/traces/fleet-trace.ts'
import { mulberry32 } from '../../core/test/election/fleet.ts'
import { run } from './support/command.ts'

/** A folder that goes with the test. */
async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'tenure-traces-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

const traces = Object.entries(FLEET_KINDS).flatMap(([name, kind]) =>
  [1, 2].map((seed) => ({
    name: `${name} ${seed}`,
    lines: traceFleet({ seed, replicas: 3, ...kind }, 60_000, 30_000).lines,
  })),
)

describe('A trace', () => {
  test.each(traces)('of the sound fleet $name is a behaviour of the specification', ({ name, lines }) => {
    expect(lines.length).toBeGreaterThan(100)
    expect(checkLines(name, lines).findings).toEqual([])
  })

  test('with a note of the simulator is checked without it, and a note that says nothing is refused', () => {
    const [trace] = traces
    if (trace === undefined) throw new Error('There is no trace')
    const noted = (note: object) => checkLines(trace.name, [...trace.lines, JSON.stringify(note)]).findings
    expect(noted({ m: 60_000, by: 'replica-1', note: 'sends: put job' })).toEqual([])
    expect(noted({ m: 60_000, by: 'replica-1' }).map(({ rule }) => rule)).toEqual(['format'])
  })

  test.each(CORRUPTIONS)('that is corrupted by $id is refused', ({ id, why, apply }) => {
    let corrupted = 0
    for (const { name, lines } of traces) {
      if (corrupted === 2) break
      const parsed = lines.map((line) => JSON.parse(line) as Lines[number])
      if (!apply(parsed, mulberry32(corrupted))) continue
      corrupted += 1
      const { findings } = checkLines(
        name,
        parsed.map((line) => JSON.stringify(line)),
      )
      expect(findings, `${id} in ${name}: ${why}`).not.toEqual([])
    }
    expect(corrupted).toBeGreaterThan(0)
  })

  test('in which a replica counts on more time than it has is refused, also before its term begins', () => {
    const lines = traces.flatMap(({ lines: some }) => {
      const parsed = some.map((line) => JSON.parse(line) as Lines[number])
      const reserving = parsed.find((line) => 's' in line && line.s === 'reserving' && actIn(line, 'until'))
      const until = reserving && 'p' in reserving ? actIn(reserving, 'until') : undefined
      if (until === undefined) return []
      until.until += 1
      return [parsed.map((line) => JSON.stringify(line))]
    })
    expect(lines.length).toBeGreaterThan(0)
    for (const some of lines) expect(checkLines('t', some).findings.map(({ rule }) => rule)).toContain('validity')
  })

  test('in which the lease is created with version 0 is refused', () => {
    const lines = (traces[0]?.lines ?? []).map((line) => JSON.parse(line) as Lines[number])
    const creation = lines.find((line) => 'p' in line && actIn(line, 'acquire') !== undefined)
    const answer = lines.find(
      (line) => 'p' in line && creation !== undefined && 'p' in creation && line.p === creation.p && line.q === 1,
    )
    expect(answer).toMatchObject({ e: 'write-answer', v: 1 })
    const forged = lines.map((line) => JSON.stringify(line === answer ? { ...line, v: 0 } : line))
    expect(checkLines('t', forged).findings.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('the write 1 on version 0 became version 0'),
    )
  })

  test('of a process with TENURE_TRACE is complete, and a second start writes another file', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'replica.trace')
    const store = new MemoryLeaseStore()
    for (const identity of ['first', 'second']) {
      const manager = createManager({
        lease: { name: 'janitor' },
        identity,
        lock: ({ name }) => store.lock(name),
        ops: false,
        signals: false,
        logLevel: 'silent',
        argv: [],
        env: { TENURE_TRACE: path },
      })
      const leads = Promise.withResolvers<void>()
      manager.on(({ kind }) => void (kind === 'term-began' && leads.resolve()))
      const running = manager.start()
      await leads.promise
      await manager.stop()
      await running
    }
    expect((await readdir(folder.path)).filter((name) => name.startsWith('replica.trace')).toSorted()).toEqual([
      'replica.trace',
      'replica.trace.1',
    ])
    const { out, code } = await run(['check-trace', path, `${path}.1`])
    expect(out).toMatch(/^2 files, \d+ steps: a behaviour of the specification\n$/)
    expect(code).toBe(0)
  })
})

describe('tenure check-trace', () => {
  test('names the file, the line and the rule that is broken, and exits with 1', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'cut.trace')
    const [header, start, ...rest] = traces[0]?.lines ?? []
    await writeFile(path, `${[header, start, ...rest.slice(1)].join('\n')}\n`)
    const { out, code } = await run(['check-trace', path])
    expect(out).toContain(`${path}:`)
    expect(out).toContain('rule order: The lines of an elector are numbered from 1')
    expect(code).toBe(1)
  })

  test('says which file it cannot read', async () => {
    const { err, code } = await run(['check-trace', join(tmpdir(), 'tenure-has-no-such-trace')])
    expect(err).toContain('Could not read the trace')
    expect(code).toBe(1)
  })
})
