import { afterAll, describe, expect, test } from 'vitest'
import { checkSamples } from './check-samples.ts'
import { Programs } from './programs.ts'
import { runProblems } from './run-program.ts'
import { runOf } from './run-sample.ts'
import { type Sample, samplesOfDocument, samplesOfSource, withoutHiddenLines } from './sample.ts'

/* The checks find what is planted here, and nothing in the sound sample beside it. */

const block = (language: string, ...lines: string[]) => ['```' + language, ...lines, '```', ''].join('\n')
const hidden = (kind: string, ...lines: string[]) => [`<!-- ${kind}`, ...lines, '-->', ''].join('\n')
const samplesOf = (...parts: string[]) => samplesOfDocument({ path: 'docs/page.md', text: parts.join('\n') })
const problemsOf = (...parts: string[]) => [...checkSamples(samplesOf(...parts)).values()].flat()

describe('The check of samples reports', () => {
  test('a wrong option, with its line in the document', () => {
    const text = [
      '# Page',
      '',
      block('ts', "import { createManager } from 'tenure'", '', 'createManager({ leese: {} })'),
    ]
    expect(problemsOf(...text)).toEqual([expect.stringMatching(/^docs\/page\.md:6: TS2769: .*'leese' does not exist/)])
  })

  test('a wrong call after hidden lines, with its line in the document', () => {
    const setup = hidden('fragment', "import type { Term } from 'tenure'", 'declare const term: Term')
    expect(problemsOf(setup, block('ts', 'term.assertHeld()'))).toEqual([])
    expect(problemsOf(setup, block('ts', 'term.assertHolds()'))).toEqual([
      expect.stringMatching(/^docs\/page\.md:7: TS2551: .*'assertHolds' does not exist/),
    ])
  })

  test('an example in a docstring that uses a method that does not exist', () => {
    const source = (call: string) =>
      `const one = 1\n/**\n * Does it.\n *\n * @example\n * \`\`\`ts\n * ${call}\n * \`\`\`\n */\n`
    const example = (call: string) =>
      samplesOfSource({ path: 'packages/x/src/x.ts', text: source(call) }, new Set(['term']))
    expect(checkSamples(example('term.assertHeld()')).size).toBe(0)
    expect([...checkSamples(example('term.assertHolds()')).values()].flat()).toEqual([
      expect.stringMatching(/^packages\/x\/src\/x\.ts:7: TS2551/),
    ])
  })

  test.each([
    ['a command that does not exist', 'sh', 'npx tenure develop', 'There is no command `tenure develop`'],
    ['a flag that does not exist', 'sh', 'npx tenure dev --prot 1', '`tenure dev` has no flag `--prot`'],
    [
      'a flag of another command',
      'sh',
      'tenure policies --image I | kubectl apply -f -',
      '`tenure policies` has no flag `--image`',
    ],
    ['a script that does not exist', 'console', '$ npm run tset', 'There is no script `npm run tset`'],
    ['a package that does not exist', 'bash', 'npm install tenur', 'There is no package `tenur` in the lock file'],
    [
      'a program that it does not know',
      'sh',
      'cd here && tenor dev',
      'There is no program `tenor` that a sample may use',
    ],
    [
      'a flag that a script does not have',
      'sh',
      'npm run spec -- --onyl x',
      '`npm run spec` has no flag `--onyl` in spec',
    ],
    ['JSON that does not parse', 'json', '{ "a": 1, }', expect.stringContaining('SyntaxError')],
    ['YAML that does not parse', 'yaml', 'a: [1', expect.stringContaining('Flow sequence')],
    ['YAML that is no manifest', 'yaml', 'a: 1', 'The block is no Kubernetes object'],
    ['a script that no example has', 'lua', 'return 2', 'No example has this script'],
    ['a language that nothing checks', 'ruby', 'puts 1', 'Nothing checks blocks in `ruby`'],
    ['a block without a language', '', 'npm ci', 'Nothing checks blocks in ``'],
  ])('%s', (_, language, line, problem) => {
    expect(problemsOf(block(language, line))).toEqual([problem])
  })

  test('fields that a Kubernetes object does not have', () => {
    const role = hidden('fragment', 'apiVersion: rbac.authorization.k8s.io/v1', 'kind: Role')
    const rule = '  - { apiGroups: [""], resources: [pods], verbs: [get] }'
    expect(problemsOf(role, block('yaml', 'rules:', rule))).toEqual([])
    expect(problemsOf(role, block('yaml', 'rules:', rule.replace('verbs', 'verb')))).toEqual([
      '.rules[0].verb: no such field',
    ])
    expect(problemsOf(role, block('yaml', 'rules:', rule.replace('[get]', 'get')))).toEqual([
      '.rules[0].verbs: expected a list',
    ])
    expect(problemsOf(block('yaml', 'apiVersion: apps/v1', 'kind: Deploiment'))).toEqual([
      'The Kubernetes client knows no V1Deploiment',
    ])
  })

  test('hidden lines that belong to no block, and a block without an end', () => {
    expect(() => samplesOf(hidden('setup', 'const one = 1'), 'Text.')).toThrow(
      'docs/page.md:5: hidden lines belong right before',
    )
    expect(() => samplesOf('```ts', 'const one = 1')).toThrow('docs/page.md:1: nothing closes this block')
  })
})

describe('A reader', () => {
  test('does not see hidden lines', () => {
    const visible = `Text.\n\n${block('ts', 'one()')}`
    expect(withoutHiddenLines(`Text.\n\n${hidden('setup', 'const one = () => {}')}\n${block('ts', 'one()')}`)).toBe(
      visible,
    )
  })
})

describe.concurrent('The run of samples', () => {
  const manager = [
    "import { createManager, type Term } from 'tenure'",
    "const manager = createManager({ lease: { name: 'planted' }, onWedged: 'exit' })",
  ]
  const program = (...lines: string[]) => samplesOf(block('ts', ...lines))
  const leading = (work: string) =>
    program("import { lead } from 'tenure'", `await lead({ lease: { name: 'planted' } }, async (term) => { ${work} })`)
  const all: Programs[] = []

  afterAll(() => {
    for (const programs of all) programs[Symbol.dispose]()
  })

  async function run(samples: readonly Sample[]): Promise<readonly string[]> {
    const programs = new Programs(samples)
    all.push(programs)
    const results = samples.map(async (sample) => (await runOf(sample)?.(programs)) ?? [])
    return (await Promise.all(results)).flat()
  }

  test('passes a program that leads and stops on SIGTERM', async () => {
    expect(await run(leading('await term.every(1000, () => {})'))).toEqual([])
  })

  test('passes a program that stands for election without a controller', async () => {
    expect(await run(program(...manager, 'await manager.start()'))).toEqual([])
  })

  test('reports a program that throws', async () => {
    expect(await run(program("throw new Error('planted')"))).toEqual([expect.stringContaining('Error: planted')])
  })

  test('reports a controller that fails, although the program ends well', async () => {
    const problems = await run(leading("throw new Error('planted')"))
    expect(problems[0]).toMatch(/^tenure:controller-failed: /)
  })

  test('reports a failed test of vitest and of node:test', async () => {
    const vitest = program("import { expect, test } from 'vitest'", "test('planted', () => expect(1).toBe(2))")
    const node = program("import { test } from 'node:test'", "test('planted', () => { throw new Error('planted') })")
    expect(await run(vitest)).toEqual([expect.stringContaining('ended with code 1')])
    expect(await run(node)).toEqual([expect.stringContaining('ended with code 1')])
  })

  test('reports a program that does not end', async () => {
    const args = ['--eval', 'setInterval(() => {}, 1000)']
    expect(await runProblems({ args, timeoutMs: 500 })).toContain('The program did not end within 500 ms')
  })

  test('reports a statement that names a missing column', async () => {
    const table = hidden('setup', 'CREATE TABLE rows (id text);')
    expect(await run(samplesOf(table, block('sql', 'SELECT id FROM rows WHERE id = $1')))).toEqual([])
    expect(await run(samplesOf(table, block('sql', 'SELECT idd FROM rows WHERE id = $1')))).toEqual([
      expect.stringContaining('column "idd" does not exist'),
    ])
  })

  test('compiles fragments and does not run them', () => {
    expect(samplesOf(hidden('fragment', ''), block('ts', "throw new Error('planted')")).map(runOf)).toEqual([undefined])
  })
})
