import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Step } from '../src/check-trace/step.ts'
import { changesState } from '../src/check-trace/transitions.ts'

/** The rows of the table of transitions in the specification: a state, an event, and the states that may follow. */
const ROWS = readFileSync(new URL('../../../docs/SPEC.md', import.meta.url), 'utf8')
  .split(/^## /m)
  .filter((section) => section.startsWith('Transitions\n'))
  .flatMap((section) => [...section.matchAll(/^\| (\w+) +\| ([\w-]+) +\| (.+?) +\|$/gm)])
  .map(([, state = '', event = '', next = '']) => [state, event, next.split(', ')] as const)
  .filter(([state]) => state !== 'state')

/** What check-trace says of an elector that goes from one state to another. */
function judge(before: string, event: string, after: string): readonly string[] {
  const findings: string[] = []
  const step = {
    before,
    line: { e: event, s: after },
    replica: { identity: 'me' },
    broken: (_rule: string, message: string) => findings.push(message),
  }
  changesState(step as unknown as Step)
  return findings
}

describe('check-trace', () => {
  test.each(ROWS)('accepts every state that the specification lists after %s on %s: %s', (state, event, next) => {
    expect(next.flatMap((after) => judge(state, event, after))).toEqual([])
  })

  test('refuses a state that the specification does not list', () => {
    expect(ROWS.length).toBeGreaterThan(50)
    expect(judge('aborting', 'observed', 'leading')).toEqual(['me is leading after `observed` while aborting'])
    expect(judge('leading', 'drained', 'releasing')).toEqual(['me is releasing after `drained` while leading'])
  })
})
