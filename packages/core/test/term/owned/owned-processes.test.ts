import type { ChildProcess } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { OwnedProcesses } from '../../../src/term/owned/owned-processes.ts'
import type { FamilyMarks } from '../../../src/term/owned/process-family.ts'

const { platform } = process

/** What the guards were asked, and which families were created and signalled. */
let log: unknown[] = []
/** The children that the next start has. */
let children: Pick<ChildProcess, 'pid'>[] = []
let cleanups: (() => unknown)[] = []
let create: () => OwnedProcesses

beforeEach(async () => {
  log = []
  children = []
  cleanups = []
  Object.defineProperty(process, 'platform', { value: 'linux' })
  vi.resetModules()
  vi.doMock('node:crypto', () => ({ randomUUID: () => 'UUID' }))
  vi.doMock('../../../src/term/owned/marked-children.ts', () => ({
    markChildren: (token: string, into: unknown[], start: () => unknown) => {
      log.push(['mark', token])
      into.push(...children)
      return start()
    },
  }))
  vi.doMock('../../../src/term/owned/process-guard.ts', () => ({
    ProcessGuard: class {
      constructor(token: string) {
        log.push(['guard', token])
      }
      add(group: number): void {
        log.push(['add', group])
      }
      delete(group: number): void {
        log.push(['delete', group])
      }
      close(): void {
        log.push(['close'])
      }
    },
  }))
  vi.doMock('../../../src/term/owned/process-family.ts', () => ({
    ProcessFamily: class {
      readonly marks: FamilyMarks
      constructor(marks: FamilyMarks) {
        this.marks = marks
      }
      signal(signal: string): void {
        log.push(['signal', signal, this.marks])
      }
    },
  }))
  const module = await import('../../../src/term/owned/owned-processes.ts')
  create = () => new module.OwnedProcesses({ defer: (cleanup) => void cleanups.push(cleanup) })
})

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform })
  for (const name of ['marked-children', 'process-guard', 'process-family'])
    vi.doUnmock(`../../../src/term/owned/${name}.ts`)
  vi.doUnmock('node:crypto')
  vi.resetModules()
})

describe('The processes of a run', () => {
  test('have one guard, which is there before the first of them and is closed with the run', () => {
    const processes = create()
    expect([log, cleanups]).toEqual([[], []])
    processes.start(() => 1)
    processes.start(() => 2)
    expect(log).toEqual([
      ['guard', 'UUID'],
      ['mark', 'UUID:1;'],
      ['mark', 'UUID:2;'],
    ])
    expect(cleanups).toHaveLength(1)
    cleanups[0]?.()
    expect(log.at(-1)).toEqual(['close'])
  })

  test('are guarded by their groups, until they are forgotten', () => {
    children = [{ pid: 7 }, { pid: undefined }, { pid: 8 }]
    const family = create().start(() => 'started')
    expect([family.started, family.children]).toEqual(['started', children])
    expect(family.family).toMatchObject({ marks: { token: 'UUID:1;', leaders: [7, 8] } })
    expect(log.slice(2)).toEqual([
      ['add', 7],
      ['add', 8],
    ])
    family.forget()
    expect(log.slice(4)).toEqual([
      ['delete', 7],
      ['delete', 8],
    ])
  })

  test('have no groups on Windows', () => {
    Object.defineProperty(process, 'platform', { value: 'win32' })
    children = [{ pid: 7 }]
    const family = create().start(() => 'started')
    family.forget()
    expect(family.family).toMatchObject({ marks: { leaders: [] } })
    expect(log).toEqual([
      ['guard', 'UUID'],
      ['mark', 'UUID:1;'],
    ])
  })

  test('are killed where the start throws after it has started some', () => {
    children = [{ pid: 7 }]
    expect(() => create().start(() => expect.fail('no memory'))).toThrow('no memory')
    expect(log.slice(2)).toEqual([['signal', 'SIGKILL', { token: 'UUID:1;', leaders: [7] }]])
  })
})
