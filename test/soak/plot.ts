import type { Point } from './growth.ts'

/** One curve of a {@link plot}. */
export interface Curve {
  readonly name: string
  readonly points: readonly Point[]
  readonly format: (value: number) => string
}

const WIDTH = 640
const HEIGHT = 120
const LEFT = 150
const GAP = 24

/** Draws curves below each other over the same terms, as SVG. Each curve has its own scale, from 0. */
export function plot(title: string, curves: readonly Curve[]): string {
  const height = GAP * 2 + curves.length * (HEIGHT + GAP)
  const body = curves.map((curve, index) => draw(curve, GAP * 2 + index * (HEIGHT + GAP))).join('\n')
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LEFT + WIDTH + GAP} ${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${GAP}" y="${GAP}" font-size="14">${title}</text>
${body}
</svg>
`
}

function draw({ name, points, format }: Curve, top: number): string {
  const last = points.at(-1)?.[0] ?? 1
  const most = Math.max(1, ...points.map(([, value]) => value)) * 1.1
  const at = ([term, value]: Point) =>
    `${(LEFT + (term / last) * WIDTH).toFixed(1)},${(top + HEIGHT - (value / most) * HEIGHT).toFixed(1)}`
  return `<g>
<path d="M${LEFT},${top}V${top + HEIGHT}H${LEFT + WIDTH}" fill="none" stroke="#999"/>
<polyline points="${points.map(at).join(' ')}" fill="none" stroke="#06c" stroke-width="1.5"/>
<text x="${GAP}" y="${top + 14}">${name}</text>
<text x="${GAP}" y="${top + 32}" fill="#555">${format(points.at(0)?.[1] ?? 0)} → ${format(points.at(-1)?.[1] ?? 0)}</text>
<text x="${LEFT + WIDTH}" y="${top + HEIGHT + 14}" text-anchor="end" fill="#555">term ${last}</text>
</g>`
}
