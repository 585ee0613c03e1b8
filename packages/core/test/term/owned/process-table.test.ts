import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

type Module = typeof import('../../../src/term/owned/process-table.ts')

let environmentIncludes: Module['environmentIncludes']
let processEntry: Module['processEntry']
let processTable: Module['processTable']

/** What `/proc` shows: the content of its files, and the names in its folders. A function is asked at each reading. */
type Proc = Record<string, string | Buffer | readonly string[] | (() => string | Buffer | readonly string[])>

const proc: Proc = {}
const readings: string[] = []

function at(path: string): string | Buffer | readonly string[] {
  readings.push(path)
  const entry = proc[path]
  const content = typeof entry === 'function' ? entry() : entry
  if (content === undefined) throw new Error(`ENOENT: ${path}`)
  return content
}

const { platform } = process
beforeEach(async () => {
  Object.defineProperty(process, 'platform', { value: 'linux' })
  vi.resetModules()
  vi.doMock('node:fs', () => ({
    readdirSync: at,
    readFileSync: (path: string, encoding?: string) => {
      const content = Buffer.from(at(path) as Buffer)
      return encoding === 'utf8' ? content.toString('utf8') : content
    },
  }))
  const module = await import('../../../src/term/owned/process-table.ts')
  environmentIncludes = module.environmentIncludes
  processEntry = module.processEntry
  processTable = module.processTable
})
afterEach(() => {
  vi.doUnmock('node:fs')
  vi.resetModules()
  Object.defineProperty(process, 'platform', { value: platform })
  for (const path of Object.keys(proc)) delete proc[path]
  readings.length = 0
})

interface Stat {
  readonly name?: string
  readonly state?: string
  readonly flags?: number
  readonly threads?: number
  readonly codeEnd?: number
  readonly environmentStart?: number
  readonly environmentEnd?: number
}

/** The line of `stat`, in which every other field is 7. */
function stat(pid: number, more: Stat = {}): string {
  const { name = 'sh', state = 'S', flags = 0, threads = 1, codeEnd = 1, environmentStart = 5000 } = more
  const { environmentEnd = environmentStart } = more
  const fields: (string | number)[] = Array.from({ length: 50 }, () => 7)
  const known = { 0: state, 1: 11, 2: 22, 3: 33, 6: flags, 17: threads, 19: 44 }
  Object.assign(fields, known, { 24: codeEnd, 47: environmentStart, 48: environmentEnd })
  return `${pid} (${name}) ${fields.join(' ')}\n`
}

/** A process with this environment, of which the kernel tells this length. */
function withEnvironment(pid: number, environment: string | Buffer, bytes = Buffer.byteLength(environment)): void {
  proc[`/proc/${pid}/stat`] = stat(pid, { environmentEnd: 5000 + bytes })
  proc[`/proc/${pid}/environ`] = environment
}

const includes = (pid: number, text = 'TOKEN'): boolean | undefined => {
  const entry = processEntry(pid)
  if (entry === undefined) throw new Error(`Expected process ${pid}`)
  return environmentIncludes(entry, text)
}

describe('The entry of a process', () => {
  test('has what its line tells', () => {
    proc['/proc/12/stat'] = stat(12, { environmentEnd: 5120 })
    expect(processEntry(12)).toMatchObject({
      pid: 12,
      parent: 11,
      group: 22,
      session: 33,
      startedAt: 44,
      runs: true,
      environmentBytes: 120,
    })
  })

  test('does not depend on the name of its program', () => {
    proc['/proc/12/stat'] = stat(12, { name: 'a) Z 1 (b' })
    expect(processEntry(12)).toMatchObject({ parent: 11, runs: true })
  })

  test('is missing where there is no such process', () => {
    expect(processEntry(12)).toBeUndefined()
  })

  test.each([
    ['Z', 1, false],
    ['X', 1, false],
    ['Z', 2, true],
    ['S', 1, true],
    ['R', 0, true],
  ])('of state %s with %i threads: whether it runs is %s', (state, threads, runs) => {
    proc['/proc/12/stat'] = stat(12, { state, threads })
    expect(processEntry(12)?.runs).toBe(runs)
  })

  test.each([
    ['of a thread of the kernel', { flags: 0x20_0000, codeEnd: 0 }, 0],
    ['of a process that ends', { flags: 0x4 }, 120],
    ['while it starts another program', { codeEnd: 0 }, undefined],
    ['of a process whose environment nobody may see', { environmentStart: 0, environmentEnd: 0 }, undefined],
    ['of any other process', {}, 120],
  ])('tells the length of its environment %s', (_, more, bytes) => {
    proc['/proc/12/stat'] = stat(12, { environmentEnd: 5120, ...more })
    expect(processEntry(12)?.environmentBytes).toBe(bytes)
  })
})

describe('The table of processes', () => {
  const pids = () => Array.from(processTable(), (part) => part.map(({ pid }) => pid))

  test('has those with a number, and has further parts until none is new', () => {
    for (const pid of [1, 12, 13]) proc[`/proc/${pid}/stat`] = stat(pid)
    const listings = [
      ['1', 'self', '12', '12a', 'a1'],
      ['1', '12', '13'],
      ['12', '13'],
    ]
    proc['/proc'] = () => listings.shift() ?? expect.fail('it was listed again')
    expect(pids()).toEqual([[1, 12], [13]])
    expect(readings.filter((path) => path !== '/proc')).toEqual(['/proc/1/stat', '/proc/12/stat', '/proc/13/stat'])
  })

  test('leaves out what has ended meanwhile', () => {
    proc['/proc/1/stat'] = stat(1)
    proc['/proc'] = ['1', '12']
    expect(pids()).toEqual([[1]])
  })

  test('is listed ten times at most', () => {
    let listing = 0
    proc['/proc'] = () => {
      listing += 1
      proc[`/proc/${listing}/stat`] = stat(listing)
      return [String(listing)]
    }
    expect(pids()).toEqual(Array.from({ length: 10 }, (_, index) => [index + 1]))
  })

  test('is empty where it may not be read, and on other systems', () => {
    expect(pids()).toEqual([])
    proc['/proc'] = ['1']
    proc['/proc/1/stat'] = stat(1)
    Object.defineProperty(process, 'platform', { value: 'darwin' })
    expect(pids()).toEqual([])
  })
})

describe('The environment of a process', () => {
  test('includes a text or does not, where all of it is there', () => {
    withEnvironment(12, 'A=1\0TOKEN\0')
    expect(includes(12)).toBe(true)
    withEnvironment(12, 'A=1\0')
    expect(includes(12)).toBe(false)
    expect(readings.filter((path) => path === '/proc/12/environ')).toHaveLength(2)
  })

  test('includes the text although it is no UTF-8, whose length as a text is another', () => {
    const odd = Buffer.from([0xff, 0xfe])
    withEnvironment(12, Buffer.concat([odd, Buffer.from('TOKEN')]))
    expect(includes(12)).toBe(true)
    withEnvironment(12, odd)
    expect(includes(12)).toBe(false)
  })

  test('has the text that is there at the second reading', () => {
    withEnvironment(12, '', 5)
    const contents = ['', 'TOKEN']
    proc['/proc/12/environ'] = () => contents.shift() ?? expect.fail('it was read again')
    expect(includes(12)).toBe(true)
  })

  test('does not include a text where it belongs to another user, or cannot be read any more', () => {
    proc['/proc/12/stat'] = stat(12, { environmentEnd: 5120 })
    expect(includes(12)).toBe(false)
    const contents = ['']
    proc['/proc/12/environ'] = () => contents.shift() ?? expect.fail('it is gone')
    expect(includes(12)).toBe(false)
  })

  test('is unclear while a process starts another program, which shows in its threads as well', () => {
    withEnvironment(12, '', 120)
    proc['/proc/12/task'] = ['12']
    proc['/proc/12/task/12/stat'] = stat(12, { environmentEnd: 5120 })
    proc['/proc/12/task/12/environ'] = ''
    expect(includes(12)).toBeUndefined()
  })

  test('is that of any thread which still runs', () => {
    withEnvironment(12, '', 120)
    proc['/proc/12/task'] = ['12', '13', '14']
    proc['/proc/12/task/12/stat'] = stat(12, { environmentEnd: 5120 })
    proc['/proc/12/task/12/environ'] = ''
    proc['/proc/12/task/14/stat'] = stat(14, { environmentEnd: 5005 })
    proc['/proc/12/task/14/environ'] = 'TOKEN'
    expect(includes(12)).toBe(true)
  })

  test.each([
    ['no thread is left', [], undefined],
    ['its thread is gone', ['12'], undefined],
    ['its thread is a zombie', ['12'], { state: 'Z' }],
    ['its thread ends', ['12'], { flags: 0x4 }],
  ])('does not include a text where %s', (_, threads, more) => {
    withEnvironment(12, '', 120)
    proc['/proc/12/task'] = threads
    proc['/proc/12/task/12/environ'] = 'TOKEN'
    if (more !== undefined) proc['/proc/12/task/12/stat'] = stat(12, more)
    expect(includes(12)).toBe(false)
  })

  test('does not include a text where its threads cannot be listed', () => {
    withEnvironment(12, '', 120)
    expect(includes(12)).toBe(false)
    expect(readings.at(-1)).toBe('/proc/12/task')
  })
})
