import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Sample } from './sample.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Programs of others. Tenure's own are checked down to their flags. */
const FOREIGN = new Set(['source', 'cd', 'mkdir', 'export', 'kubectl', 'esbuild', 'curl'])
/** Commands of npm that take no name of a script. */
const NPM = new Set(['ci', 'test', 'init', 'pkg'])

/** What is wrong with the commands of a shell block. */
export function shellProblems({ code, language }: Sample): readonly string[] {
  return commandsOf(code, language).flatMap((words) => problemsOf(words))
}

/** What is wrong with the entry point of an image. Other lines are not checked. */
export function dockerfileProblems({ code }: Sample): readonly string[] {
  const entryPoints = code.flatMap((line) => /^ENTRYPOINT (\[.*\])$/.exec(line)?.[1] ?? [])
  if (entryPoints.length !== 1) return ['The image has no ENTRYPOINT, or several, or its ENTRYPOINT is no list']
  return entryPoints.flatMap((list) => problemsOf(JSON.parse(list) as string[]))
}

/** The commands of a shell block, as words. In a console block, commands follow `$`, and the rest is their output. */
export function commandsOf(code: readonly string[], language: string): readonly (readonly string[])[] {
  const lines = language === 'console' ? code.flatMap((line) => /^\$ (.*)$/.exec(line)?.[1] ?? []) : code
  return lines
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap(commandsOfLine)
}

function commandsOfLine(line: string): readonly (readonly string[])[] {
  const tokens = line.match(/#.*$|&&|\|\||[|;&]|(?:"[^"]*"|'[^']*'|[^\s|;&"'])+/g) ?? []
  const words = tokens.filter((token) => !token.startsWith('#'))
  const commands: string[][] = [[]]
  for (const word of words) {
    if (/^(?:&&|\|\||[|;&])$/.test(word)) commands.push([])
    else commands.at(-1)?.push(word.replaceAll(/^(["'])(.*)\1$/g, '$2'))
  }
  return commands.filter((command) => command.length > 0)
}

function problemsOf([program = '', ...args]: readonly string[]): readonly string[] {
  if (FOREIGN.has(program)) return []
  const check = CHECKS[program]
  if (check !== undefined) return check(args)
  if (program.startsWith('.') && existsSync(join(ROOT, program))) return []
  return [`There is no program \`${program}\` that a sample may use`]
}

const CHECKS: Readonly<Record<string, (args: readonly string[]) => readonly string[]>> = {
  npm: npmProblems,
  npx: ([name = '', ...args]) => (CHECKS[name === '@tenure/cli' ? 'tenure' : name] ?? unknownPackage(name))(args),
  tenure: tenureProblems,
  vitest: () => [],
  node: ([file = '']) => (/^[\w/-]+\.[cm]?[jt]s$/.test(file) ? [] : [`\`node ${file}\` runs no file`]),
}

function unknownPackage(name: string): () => readonly string[] {
  return () => [`\`npx ${name}\` runs no program of this project`]
}

function npmProblems([command = '', ...args]: readonly string[]): readonly string[] {
  if (command === 'install') return args.filter((name) => !name.startsWith('-')).flatMap(packageProblems)
  if (command === 'run') return scriptProblems(args)
  return NPM.has(command) ? [] : [`There is no command \`npm ${command}\` that a sample may use`]
}

/** A package to install is one of ours, or in the lock file. */
function packageProblems(name: string): readonly string[] {
  const { packages } = readJson('package-lock.json') as { packages: Record<string, unknown> }
  return `node_modules/${name}` in packages ? [] : [`There is no package \`${name}\` in the lock file`]
}

function scriptProblems([name = '', ...args]: readonly string[]): readonly string[] {
  const { scripts } = readJson('package.json') as { scripts: Record<string, string> }
  const script = scripts[name]
  if (script === undefined) return [`There is no script \`npm run ${name}\``]
  const [, main] = /(\S+\.ts)[^\s]*$/.exec(script) ?? []
  const flags = flagsOf(args)
  if (main === undefined) return []
  const source = readFileSync(join(ROOT, main), 'utf8')
  return flags
    .filter((flag) => !new RegExp(`(?:\\b${flag}|'${flag}'): \\{`).test(source))
    .map((flag) => `\`npm run ${name}\` has no flag \`--${flag}\` in ${dirname(main)}`)
}

/** Checks a command of the `tenure` program and its flags against what its help prints. */
function tenureProblems([command = '', ...args]: readonly string[]): readonly string[] {
  if (command.startsWith('-')) return []
  if (!commandsOfTenure().has(command)) return [`There is no command \`tenure ${command}\``]
  const known = flagsOfTenure(command)
  // What follows `--` is for the program of `tenure exec`.
  const end = args.indexOf('--')
  return flagsOf(end < 0 ? args : args.slice(0, end))
    .filter((flag) => !known.has(flag))
    .map((flag) => `\`tenure ${command}\` has no flag \`--${flag}\``)
}

const helpTexts = new Map<string, string>()

/** What the help of a command prints, or that of the program. */
function helpOfTenure(...command: readonly string[]): string {
  const key = command.join(' ')
  const known = helpTexts.get(key)
  if (known !== undefined) return known
  const help = spawnSync(process.execPath, tenureCommand(...command, '--help'), { cwd: ROOT, encoding: 'utf8' }).stdout
  helpTexts.set(key, help)
  return help
}

function commandsOfTenure(): ReadonlySet<string> {
  const [, commands = ''] = helpOfTenure().split('\nCommands:\n')
  return new Set([...commands.matchAll(/^ {2}([\w-]+) {2}/gm)].map(([, name = '']) => name))
}

function flagsOfTenure(command: string): ReadonlySet<string> {
  const flags = helpOfTenure(command).matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm)
  return new Set([...flags].map(([, flag = '']) => flag))
}

/** How to start the `tenure` program from its sources. */
export function tenureCommand(...args: readonly string[]): string[] {
  return ['--conditions=@tenure/source', join(ROOT, 'packages/cli/src/main.ts'), ...args]
}

function flagsOf(args: readonly string[]): readonly string[] {
  return args.flatMap((word) => /^--([\w-]+)/.exec(word)?.[1] ?? [])
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'))
}
