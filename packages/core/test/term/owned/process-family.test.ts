import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { FamilyMarks, ProcessFamily } from '../../../src/term/owned/process-family.ts'
import type { ProcessEntry } from '../../../src/term/owned/process-table.ts'

const SELF = process.pid
const TOKEN = 'TOKEN'

/** The processes of the machine. */
let table: ProcessEntry[] = []
/** The processes that a second listing shows besides. */
let late: ProcessEntry[] = []
/** What the environment of a process tells of a text, at each look. */
let environments: Record<number, (text: string) => boolean | undefined> = {}
/** What was sent, in order. */
let sent: [target: number, signal: string | number | undefined][] = []
/** The error of a signal to a target. */
let errors: Record<number, string> = {}

let create: (marks?: Partial<FamilyMarks>) => ProcessFamily

beforeEach(async () => {
  table = [entry(SELF, { startedAt: 100 })]
  late = []
  environments = {}
  sent = []
  errors = {}
  vi.resetModules()
  vi.doMock('../../../src/term/owned/process-table.ts', () => ({
    processEntry: (pid: number) => table.find((other) => other.pid === pid),
    *processTable() {
      yield table
      table = [...table, ...late]
      yield late
    },
    environmentIncludes: ({ pid }: ProcessEntry, text: string) => (environments[pid] ?? (() => false))(text),
  }))
  vi.spyOn(process, 'kill').mockImplementation((target, signal) => {
    sent.push([target, signal])
    if (errors[target] !== undefined) throw Object.assign(new Error('kill'), { code: errors[target] })
    return true
  })
  const module = await import('../../../src/term/owned/process-family.ts')
  create = ({ token = TOKEN, leaders = [] } = {}) => new module.ProcessFamily({ token, leaders })
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.doUnmock('../../../src/term/owned/process-table.ts')
  vi.resetModules()
})

/** A process that was started after this one, by another one, in a group and a session of its own. */
function entry(pid: number, more: Partial<ProcessEntry> = {}): ProcessEntry {
  return { pid, parent: 1, group: pid, session: pid, startedAt: 200, runs: true, environmentBytes: 10, ...more }
}

const marked = (text: string): boolean => text === TOKEN

describe('A family of processes', () => {
  test('has the members of its groups and sessions, and those with its token', () => {
    table.push(entry(11, { group: 7 }), entry(12, { session: 7 }), entry(13), entry(14), entry(15, { parent: 7 }))
    environments = { 13: marked, 14: () => false }
    errors = { '-6': 'ESRCH' }
    expect(create({ leaders: [6, 7] }).search()).toEqual([11, 12, 13])
  })

  test('has the children of its members, and the children of these', () => {
    table.push(entry(15, { parent: 14 }), entry(14, { parent: 13 }), entry(13), entry(16, { parent: 1 }))
    environments = { 13: marked }
    expect(create().search()).toEqual([13, 14, 15])
  })

  test('has the children of a zombie, which is no member itself', () => {
    table.push(entry(13, { runs: false }), entry(14, { parent: 13 }))
    environments = { 13: marked }
    expect(create().search()).toEqual([14])
  })

  test('has members that start during the search', () => {
    table.push(entry(13))
    late = [entry(14), entry(15, { parent: 13 })]
    environments = { 13: marked, 14: marked }
    expect(create().search()).toEqual([13, 14, 15])
  })

  test('has no process that is older than this one, and not this one', () => {
    table.push(entry(11, { startedAt: 99, group: 7 }), entry(12, { startedAt: 100, group: 7 }))
    environments = { [SELF]: marked, 11: marked }
    expect(create({ leaders: [7] }).search()).toEqual([12])
  })

  test('has any process with its token where this one cannot be seen itself', () => {
    table = [entry(11, { startedAt: 1 })]
    environments = { 11: marked }
    expect(create().search()).toEqual([11])
  })

  test('keeps a process that has lost its parent, until it ends or another one has its number', () => {
    table.push(entry(13), entry(14, { parent: 13 }))
    environments = { 13: marked }
    const family = create()
    expect(family.search()).toEqual([13, 14])
    table = [entry(SELF, { startedAt: 100 }), entry(14, { parent: 1 })]
    expect(family.search()).toEqual([14])
    table = [entry(SELF, { startedAt: 100 }), entry(14, { parent: 1, startedAt: 201 })]
    expect(family.search()).toEqual([])
  })

  test('has a process whose environment is unclear at every look, after those that are sure', () => {
    table.push(entry(12), entry(13))
    let looks = 0
    environments = { 12: () => ((looks += 1), undefined), 13: marked }
    expect(create().search()).toEqual([13, 12])
    expect(looks).toBe(20)
  })

  test('has an unclear process once, which is the child of another one', () => {
    table.push(entry(13), entry(14, { parent: 13 }))
    environments = { 13: marked, 14: () => undefined }
    expect(create().search()).toEqual([13, 14])
  })

  test.each([
    ['has', true, [12]],
    ['has not', false, []],
  ])('%s a process whose environment becomes clear', (_, isMarked, found) => {
    table.push(entry(12))
    const answers = [undefined, undefined, isMarked]
    environments = { 12: () => (answers.length > 0 ? answers.shift() : expect.fail('it was asked again')) }
    expect(create().search()).toEqual(found)
  })

  test('has no unclear process that has ended meanwhile, nor another one that has its number', () => {
    for (const now of [undefined, entry(12, { startedAt: 201 })]) {
      table = [entry(SELF, { startedAt: 100 }), entry(12)]
      environments = {
        12: () => {
          table = [entry(SELF, { startedAt: 100 }), ...(now === undefined ? [] : [now])]
          environments = { 12: marked }
          return undefined
        },
      }
      expect(create().search()).toEqual([])
    }
  })

  test('has no unclear process where the kernel does not tell of environments: one look decides', () => {
    table = [entry(SELF, { startedAt: 100, environmentBytes: undefined }), entry(12), entry(13)]
    let looks = 0
    environments = { 12: () => ((looks += 1), undefined), 13: marked }
    expect(create().search()).toEqual([13])
    expect(looks).toBe(1)
    table = []
    expect(create().search()).toEqual([])
  })

  test('has a group whose members are invisible, as its negative number', () => {
    table.push(entry(11, { group: 7 }))
    errors = { '-8': 'EPERM', '-9': 'ESRCH' }
    expect(create({ leaders: [6, 7, 8, 9] }).search()).toEqual([-6, -8, 11])
    expect(sent).toEqual([
      [-6, 0],
      [-8, 0],
      [-9, 0],
    ])
  })
})

describe('The running processes of a family', () => {
  test('are those that were found, as long as one of them runs', () => {
    table.push(entry(13), entry(14, { parent: 13 }))
    environments = { 13: marked }
    const family = create()
    expect(family.running()).toEqual([13, 14])
    table = [entry(13, { runs: false }), entry(14, { parent: 1 }), entry(15)]
    environments = { 15: marked }
    expect(family.running()).toEqual([14])
  })

  test('are searched again when none of those runs any more', () => {
    table.push(entry(13))
    environments = { 13: marked, 15: marked }
    const family = create()
    expect(family.running()).toEqual([13])
    table = [entry(13, { startedAt: 300 }), entry(15)]
    environments = { 15: marked }
    expect(family.running()).toEqual([15])
  })
})

describe('A signal to a family', () => {
  test('goes to a group in one step, and to every other process', () => {
    table.push(entry(7), entry(11, { group: 7 }), entry(12, { session: 7 }), entry(13))
    environments = { 13: marked }
    expect(create({ leaders: [7] }).signal('SIGTERM')).toEqual([7, 11, 12, 13])
    expect(sent).toEqual([
      [-7, 'SIGTERM'],
      [12, 'SIGTERM'],
      [13, 'SIGTERM'],
    ])
  })

  test('goes to a group whose members are invisible, and to none without members', () => {
    table.push(entry(13))
    environments = { 13: marked }
    errors = { '-8': 'ESRCH' }
    expect(create({ leaders: [7, 8] }).signal('SIGKILL')).toEqual([-7, 13])
    expect(sent).toEqual([
      [-7, 0],
      [-8, 0],
      [-7, 'SIGKILL'],
      [13, 'SIGKILL'],
    ])
  })

  test('goes to the others although one has ended', () => {
    table.push(entry(12), entry(13))
    environments = { 12: marked, 13: marked }
    errors = { 12: 'ESRCH' }
    expect(create().signal('SIGTERM')).toEqual([12, 13])
    expect(sent.map(([target]) => target)).toEqual([12, 13])
  })

  test('does not go to a process that is unclear', () => {
    table.push(entry(12))
    environments = { 12: () => undefined }
    expect(create().signal('SIGTERM')).toEqual([12])
    expect(sent).toEqual([])
  })
})
