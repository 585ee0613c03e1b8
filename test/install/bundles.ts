import { writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { succeed } from './command.ts'
import { readmeExample } from './readme-example.ts'

const BANNER = "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url)"
const ESBUILD = ['esbuild', 'bundled.ts', '--bundle', '--platform=node', '--log-level=error']

/** Other ways to run the program than to give its source to Node: what makes the file, and the file. */
export interface Bundle {
  readonly name: string
  readonly file: string
  readonly command: readonly string[]
}

/** The bundlers that `docs/how-to/bundle.md` names, beside rolldown, which the attacks run. */
export const BUNDLES: readonly Bundle[] = [
  { name: 'esbuild, CommonJS', file: 'esbuild.cjs', command: [...ESBUILD, '--format=cjs', '--outfile=esbuild.cjs'] },
  {
    name: 'esbuild, ESM',
    file: 'esbuild.mjs',
    command: [...ESBUILD, '--format=esm', '--outfile=esbuild.mjs', `--banner:js=${BANNER}`],
  },
  { name: 'webpack', file: 'out/main.cjs', command: ['webpack', '-c', 'webpack.config.cjs'] },
  { name: 'ncc', file: 'ncc/index.mjs', command: ['ncc', 'build', 'bundled.mjs', '-o', 'ncc'] },
]

/** What the bundlers are installed as. */
export const BUNDLERS: Readonly<Record<string, string>> = {
  esbuild: '0.28.2',
  webpack: '5.112.2',
  'webpack-cli': '^7.0.0',
  '@vercel/ncc': '0.45.0',
}

const WEBPACK_CONFIG = `module.exports = {
  mode: 'production',
  target: 'node',
  entry: './bundled.mjs',
  output: { path: __dirname + '/out', filename: 'main.cjs' },
}
`

/** Writes the program of the README with a watchdog, in a form that fits into a CommonJS bundle, too. */
export async function writeBundled(folder: string): Promise<void> {
  const program = readmeExample()
    .replace(/createManager\(\{ (.*?) \}\)\n/, 'createManager({ $1, watchdog: true })\n')
    .replace('await manager.start()', 'void manager.start()')
  if (!program.includes('watchdog') || /^await/m.test(program)) throw new Error(`The program has changed:\n${program}`)
  await writeFile(join(folder, 'bundled.ts'), program)
  await writeFile(join(folder, 'webpack.config.cjs'), WEBPACK_CONFIG)
  await writeFile(join(folder, 'bundled.mjs'), stripTypeScriptTypes(program))
}

/** Makes a bundle. @throws Error with what the bundler says */
export async function makeBundle(folder: string, { command }: Bundle): Promise<void> {
  await succeed('npx', command, { cwd: folder })
}
