import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Mutable } from '../../../test/traces/corruption.ts'
import { checkLines } from '../../../test/traces/check-lines.ts'
import { lease, ME } from '../../core/test/election/pure-elector.ts'
import { run } from './support/command.ts'
import { checkEdited, checkWithLast, headerOf, linesOf } from './support/edited-trace.ts'
import { TracedElector } from './support/traced-elector.ts'

const NO_LINE = 'format: this is no line of a trace'

/** A follower that has seen a lease. Its last step shows that. */
function follower(): TracedElector {
  const elector = new TracedElector()
  elector.send({ kind: 'start' })
  elector.now = 1000
  elector.observe(lease({ version: 2n }))
  return elector
}

/** The findings if the last step has these fields. */
function saying(fields: object): readonly string[] {
  return checkWithLast(follower(), (last) => Object.assign(last, fields))
}

/** The findings if the record that the last step shows has these fields. */
function showing(fields: object): readonly string[] {
  return checkWithLast(follower(), ({ r = { h: '' } }) => Object.assign(r, fields))
}

describe('A header', () => {
  /** The findings if the header has these settings. */
  function stating(settings: object): readonly string[] {
    const lines = linesOf(follower())
    Object.assign(headerOf(lines), settings)
    return checkEdited(lines)
  }

  test.each([{ tolerance: 0 }, { tolerance: 0.99 }, { acquireDelayMs: 0 }, { requestMs: 1 }, { leaseMs: 1000 }])(
    'with %o is accepted',
    (settings) => expect(stating(settings)).toEqual([]),
  )

  test.each([
    { tolerance: 1 },
    { tolerance: 2 },
    { tolerance: -0.5 },
    { acquireDelayMs: -5 },
    { requestMs: 0 },
    { requestMs: -5 },
    { leaseMs: 0 },
    { leaseMs: -15_000 },
  ])('with %o is none', (settings) => expect(stating(settings)).toContain(NO_LINE))
})

describe('A line', () => {
  test.each([{ j: 0 }, { j: 20 }, { x: true }])('with %o is accepted', (fields) => expect(saying(fields)).toEqual([]))

  test.each([{ j: -1000 }, { j: 'late' }, { x: 'yes' }, { x: false }])('with %o is none', (fields) =>
    expect(saying(fields)).toEqual([NO_LINE]),
  )

  test.each(['m', 't'])('with an infinite time `%s` is none', (field) => {
    const { lines } = follower()
    const forged = lines.map((line) => line.replace(`"${field}":1000`, `"${field}":1e999`))
    expect(forged).not.toEqual(lines)
    expect(checkLines('infinite.trace', forged).findings.map(({ message }) => message)).toEqual([
      'this is no line of a trace',
    ])
  })

  test('is unsound if its elector decides before the step before can be over', () => {
    const elector = new TracedElector()
    elector.send({ kind: 'start' })
    elector.pauses = { before: 1000, after: 0 }
    elector.observe(lease({ version: 2n }))
    elector.pauses = { before: 0, after: 0 }
    elector.send({ kind: 'watch-up' })
    expect(checkEdited(linesOf(elector))).toEqual([])
    const early = checkWithLast(elector, (last) => (last.t -= 40))
    expect(early).toEqual([expect.stringMatching(/^order: me decides 960 ms after a step that took 1000(\.\d+)? ms$/)])
  })

  test('is unsound if the clock of its machine has gone back', () => {
    const found = [`order: the clock of the machine goes back at ${ME}`]
    expect(saying({ m: -1 })).toEqual(found)
    expect(saying({ m: 0 })).toEqual([])
  })
})

describe('A record', () => {
  test.each([{ x: 'n' }, { y: ['other', 'n'] }, { o: true }, { p: 'other' }])('with %o is accepted', (fields) =>
    expect(showing(fields)).toEqual([]),
  )

  test.each([
    { x: 7 },
    { y: [1, 2] },
    { y: ['other', 2] },
    { y: [1, 'n'] },
    { y: ['other'] },
    { o: false },
    { o: 'yes' },
    { p: 7 },
  ])('with %o is none', (fields) => expect(showing(fields)).toEqual([NO_LINE]))
})

test('A write that says anything but true of whether it is a check is none', () => {
  const leader = new TracedElector().lead()
  leader.passTo(2000)
  const checking = (isCheck: unknown) =>
    checkWithLast(leader, ({ d = [] }) => {
      const [write]: (Mutable<object> | undefined)[] = d
      Object.assign(write ?? {}, { i: isCheck })
    })
  expect(checking(true)).toEqual([])
  expect(checking('yes')).toEqual([NO_LINE])
  expect(checking(false)).toEqual([NO_LINE])
})

describe('tenure check-trace', () => {
  /** A file in a folder that goes with the test. */
  async function fileOf(text: string): Promise<AsyncDisposable & { readonly path: string; readonly folder: string }> {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-traces-'))
    const path = join(folder, 'replica.trace')
    await writeFile(path, text)
    return { folder, path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  }

  const { lines } = follower()
  const sound = `${lines.join('\n')}\n`

  test('names a folder that is given in place of a file', async () => {
    await using file = await fileOf(sound)
    const { err, code } = await run(['check-trace', file.folder])
    expect(err).toContain(`Could not read the trace ${file.folder}: `)
    expect(code).toBe(1)
  })

  test('accepts a last line of which only the beginning was written', async () => {
    await using file = await fileOf(`${sound}{"p":1,"n":3,"m":10`)
    const { out, code } = await run(['check-trace', file.path])
    expect(out).toBe('1 file, 2 steps: a behaviour of the specification\n')
    expect(code).toBe(0)
  })

  test.each(['garbage', '\0\0\0', '[1, 2'])('refuses the file %o, which has no newline', async (text) => {
    await using file = await fileOf(text)
    const { out, code } = await run(['check-trace', file.path])
    expect(out).toContain(`${file.path}:1: ${NO_LINE}`)
    expect(out).toContain('1 file, 0 steps: 1 violation')
    expect(code).toBe(1)
  })

  test.each([
    { what: 'is empty', text: '' },
    { what: 'has only a header', text: `${lines[0]}\n` },
    { what: 'ends within its first line', text: lines[0]?.slice(0, 20) ?? '' },
  ])('finds nothing to check in a file that $what, and exits with 1', async ({ text }) => {
    await using file = await fileOf(text)
    const { out, code } = await run(['check-trace', file.path])
    expect(out).toBe('1 file, 0 steps: nothing to check\n')
    expect(code).toBe(1)
  })
})
