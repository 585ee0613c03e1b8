import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import ts from 'typescript-api'
import { formatSeed } from '../../../packages/simulator/src/seed.ts'
import type { Programs } from './programs.ts'
import { runProblems } from './run-program.ts'
import { fullText, type Sample } from './sample.ts'
import { commandsOf, tenureCommand } from './shell.ts'

const ROOT = join(import.meta.dirname, '../../..')
const TIMEOUT_MS = 120_000
/** A sample that simulates a thousand fleets simulates one of them here. */
const ONE_SEED = { TENURE_SIMULATION_SEED: formatSeed({ number: 7, script: undefined }) }
/** Names that stand for a value of the reader. */
const PLACEHOLDERS: Readonly<Record<string, string>> = { IMAGE: 'registry.example.com/janitor:1', NAME: 'janitor' }

/** How a sample runs; undefined if it does not: a fragment, or no program. */
export function runOf(sample: Sample): ((programs: Programs) => Promise<readonly string[]>) | undefined {
  if (sample.hidden?.kind === 'fragment' || sample.hidden?.kind === 'docstring') return undefined
  return RUNS[sample.language]?.(sample)
}

type Run = (programs: Programs) => Promise<readonly string[]>

const RUNS: Readonly<Record<string, (sample: Sample) => Run | undefined>> = {
  ts: (sample) => (programs) => runModule(programs, sample),
  js: (sample) => (programs) => runModule(programs, sample),
  sql: (sample) => (programs) => runSql(programs, sample),
  sh: tenureRun,
  bash: tenureRun,
  console: tenureRun,
}

async function runModule(programs: Programs, sample: Sample): Promise<readonly string[]> {
  const text = fullText(sample)
  const env = text.includes("from '@tenure/simulator'") ? ONE_SEED : {}
  return runProblems({ args: await argumentsOf(programs.fileOf(sample), text), timeoutMs: TIMEOUT_MS, env })
}

/** How Node runs a module: as it is, in vitest, or compiled. */
async function argumentsOf(file: string, text: string): Promise<string[]> {
  if (/^import .* from 'vitest'$/m.test(text)) return vitestArgs(file)
  return /^ *@\w/m.test(text) ? [await compiled(file, text)] : [file]
}

/** A sample for vitest runs in vitest, from source as all tests here. */
async function vitestArgs(file: string): Promise<string[]> {
  const resolve = { conditions: ['@tenure/source', 'node', 'import', 'module', 'default'] }
  const config = {
    root: join(file, '..'),
    resolve,
    ssr: { resolve },
    test: { include: [file], testTimeout: TIMEOUT_MS },
  }
  const path = `${file}.config.mjs`
  await writeFile(path, `export default ${JSON.stringify(config)}\n`)
  return [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', path]
}

/** Node runs no decorators, so a sample that has them is compiled as NestJS compiles it. */
async function compiled(file: string, text: string): Promise<string> {
  const path = file.replace(/\.ts$/, '.mjs')
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  })
  await writeFile(path, outputText)
  return path
}

async function runSql(programs: Programs, sample: Sample): Promise<readonly string[]> {
  const path = programs.fileOf(sample)
  await writeFile(path, fullText(sample))
  return runProblems({ args: [join(import.meta.dirname, 'run-sql.ts'), path], timeoutMs: TIMEOUT_MS })
}

/** Runs the commands of the `tenure` program in a shell block: those that print must succeed, and `tenure dev` stops on SIGTERM. */
function tenureRun({ code, language }: Sample): Run | undefined {
  const commands = commandsOf(code, language).flatMap(tenureArgs)
  if (commands.length === 0) return undefined
  return async () => {
    const problems = commands.map((args) =>
      runProblems({ args: tenureCommand(...args), timeoutMs: TIMEOUT_MS, until: 'KUBECONFIG=' }),
    )
    return (await Promise.all(problems)).flat()
  }
}

/** The arguments of a command of the `tenure` program, however it is started. */
function tenureArgs(words: readonly string[]): readonly (readonly string[])[] {
  const at = words.findIndex((word) => word === 'tenure' || word === '@tenure/cli')
  const isStarted = at === 0 || (at === 1 && words[0] === 'npx')
  return isStarted ? [words.slice(at + 1).map((word) => PLACEHOLDERS[word] ?? word)] : []
}
