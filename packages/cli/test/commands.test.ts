import { describe, expect, test } from 'vitest'
import { run } from './support/command.ts'

const NAMES = [
  'dev',
  'status',
  'explain',
  'ui',
  'watch',
  'replay',
  'step-down',
  'transfer',
  'doctor',
  'chaos',
  'manifests',
  'policies',
  'complete',
]

describe('tenure --help', () => {
  test('lists every command, within the width of the terminal', async () => {
    const { out, code } = await run(['--help'], { columns: 40 })
    expect(code).toBe(0)
    for (const name of NAMES) expect(out).toMatch(new RegExp(`^  ${name}\\b`, 'm'))
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40)
  })

  test.each(NAMES)('of %s shows an example', async (name) => {
    const { out, code } = await run([name, '--help'])
    expect(code).toBe(0)
    expect(out).toMatch(/^Examples?:\n {2}\$ .*tenure/m)
  })
})

test('tenure --version prints the version alone', async () => {
  expect(await run(['--version'])).toEqual({ out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: '', code: 0 })
})

test.each([
  [['status', '--al'], "unknown option '--al'"],
  [['status', '-o', 'xml'], "argument 'xml' is invalid. Allowed choices are wide, json, yaml."],
  [['status', 'a', 'b'], 'too many arguments'],
  [['status', 'a', '-A'], 'Expected either the name of a lease or `--all-namespaces`'],
  [['status', '-w', '-o', 'yaml'], 'Expected `-o json` beside `--watch`'],
  [['status', '-n', 'Ops', '--kubeconfig', '/dev/null'], ''],
  [['step-down'], "missing required argument 'lease'"],
  [['transfer', 'janitor'], "required option '--to <id>' not specified"],
])('%j is refused with code 2 and one line', async (args, message) => {
  const { out, err, code } = await run(args)
  expect([out, err.trimEnd().split('\n').length]).toEqual(['', 1])
  expect(err).toContain(message)
  expect(code).toBe(message === '' ? 1 : 2)
})
