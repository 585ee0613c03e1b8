import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MODELS, WRONG_MODELS } from '../../../../spec/models.ts'
import { DIFFERENCES } from '../../../../test/differential/differences.ts'
import type { ElectorEvent } from '../../src/election/machine/event.ts'
import { withRequest } from '../../src/election/rules/step-down-request.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import { drainCells, drainStates } from '../drain/drain-cells.ts'
import { ObservedTransitions } from './observed-transitions.ts'
import { PureElector } from './pure-elector.ts'

const root = join(import.meta.dirname, '../../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const specification = read('docs/SPEC.md')

/** The rows of every table of the section whose head begins with `head`, cell by cell, without code marks. */
function rows(section: string, head: string): readonly (readonly string[])[] {
  const [, text = ''] = specification.split(`\n## ${section}\n`)
  const lines = (text.split('\n## ')[0] ?? '').split('\n')
  let isInTable = false
  return lines.flatMap((line) => {
    const cells = line.split('|').slice(1, -1)
    const [first, ...rest] = cells.map((cell) => cell.trim().replaceAll('`', ''))
    if (first === undefined) isInTable = false
    else if (first === head) isInTable = true
    else if (isInTable && !first.startsWith('---')) return [[first, ...rest]]
    return []
  })
}

/** The cells of the production table that do something: those that are named in its source, or mixed in. */
function handledCells(): readonly string[] {
  const source = read('packages/core/src/election/machine/transition.ts')
  const [, table = ''] = /const TABLE: Table = \{\n(.*?)\n\}\n/s.exec(source) ?? []
  const cells: string[] = []
  let state = ''
  for (const line of table.split('\n')) {
    state = /^ {2}(\w+): /.exec(line)?.[1] ?? state
    const [, event] = /^ {4}'?([\w-]+)'?: \(/.exec(line) ?? []
    if (event !== undefined) cells.push(`${state} ${event}`)
    if (line.includes('...unlessOverridden')) cells.push(`${state} watch-up`, `${state} watch-down`)
    if (line.includes('...whileHolding')) {
      cells.push(...['observed', 'write-answer', 'read-answer', 'wake'].map((name) => `${state} ${name}`))
    }
  }
  return [...new Set(cells)].toSorted()
}

const transitions = new Map(
  rows('Transitions', 'state').map(([state, event, next = '']) => [`${state} ${event}`, next.split(', ')] as const),
)

describe('The specification', () => {
  test('names for every invariant something that enforces it', () => {
    const invariants = rows('Invariants', 'id').map(([id]) => id)
    const enforced = new Set(rows('Evidence', 'id').map(([id]) => id))
    expect(invariants).toEqual(['S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'L1', 'L2', 'L3'])
    expect(enforced).toEqual(new Set(invariants))
  })

  test.each(rows('Evidence', 'id'))('says of %s that it is enforced by a %s that exists: %s, %s', (...row) => {
    const [, by, path = '', name = ''] = row
    expect(['type', 'assertion', 'test', 'model', 'search', 'policy']).toContain(by)
    expect(name).not.toBe('')
    if (by === 'model') expect(MODELS.map((model) => model.name)).toContain(name)
    else if (by === 'test' || by === 'policy') expect(read(path)).toMatch(quoted(name))
    else if (path === 'package.json') expect(JSON.parse(read(path))).toHaveProperty(['scripts', name])
    else expect(read(path)).toContain(name)
  })

  test('has a row for every cell of the machine that does something, and for no other', () => {
    expect([...transitions.keys()].toSorted()).toEqual(handledCells())
  })

  test('knows every transition that a disturbed fleet makes', () => {
    const seen = new ObservedTransitions()
    const timing = resolveTimingOptions({ acquireDelayMs: 500 })
    for (let seed = 1; seed <= 12; seed++) {
      const config = { timing, releaseOnExit: true, missingLease: 'wait' } as const
      seen.watchFleet({ seed, replicas: 3, stalls: seed % 2 === 0, config }, 100_000)
    }
    const known = ([state, event]: readonly [string, string]) => transitions.get(`${state} ${event}`) ?? [state]
    for (const cell of seen.cells)
      expect(known(cell), cell.join(' on ')).toEqual(expect.arrayContaining([...seen.after(...cell)]))
    expect(seen.cells.length).toBeGreaterThan(40)
  })

  test.each<[ElectorEvent['kind'], (leader: PureElector) => unknown]>([
    ['observed', (leader) => leader.observe(requested(leader.as('leading').hold.lease, 3n))],
    ['write-answer', (leader) => leader.answerWrite({ kind: 'written', lease: requested(leader.stored(3n), 3n) })],
    [
      'read-answer',
      (leader) => {
        leader.failWrite('conflict')
        return leader.answerRead(requested(leader.as('leading').hold.lease, 3n))
      },
    ],
    [
      'wake',
      (leader) => {
        leader.observe(preferring('other', leader.as('leading').hold.lease))
        const preferred = { identity: 'other', isAlive: true }
        leader.config = { ...leader.config, coordination: 'server', preferred }
        return leader.send({ kind: 'wake' })
      },
    ],
  ])('knows that a leader drains if the lease asks for that, on %s', (event, ask) => {
    const leader = new PureElector().lead()
    leader.passTo(2000)
    ask(leader)
    expect(leader.state.kind).toBe('draining')
    expect(transitions.get(`leading ${event}`)).toContain('draining')
  })

  test('lists what every event does to a drain, and nothing else', () => {
    const listed = rows('Drain', 'from').map(([from, event, next = '']) => [`${from} ${event}`, next.split(', ')])
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(drainCells()))
    expect(new Set(rows('Drain', 'stage').map(([stage]) => stage))).toEqual(
      new Set(drainStates().map(({ kind }) => kind)),
    )
  })

  test('lists the differences from client-go that the differential test knows', () => {
    expect(rows('Differences from client-go', 'difference')).toEqual(DIFFERENCES.map((one) => [one.name, one.reason]))
  })

  test('lists the rules that the models are checked without', () => {
    const wrong = WRONG_MODELS.map(({ name, violates }) => [name, violates])
    expect(rows('Models', 'broken rule')).toEqual(wrong)
  })
})

/** A lease with a request that its term ends. */
function requested(lease: PresentLease, version: bigint): PresentLease {
  return { ...lease, version, record: withRequest(lease.record, { id: 'r1' }) }
}

/** A lease of which a coordinator prefers another holder. */
function preferring(preferredHolder: string, lease: PresentLease): PresentLease {
  return { ...lease, version: lease.version + 1n, record: { ...lease.record, preferredHolder } }
}

/** A title in quotes, as a test has it. */
function quoted(name: string): RegExp {
  return new RegExp(`['"]${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}['"]`)
}
