package lab

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"forage/graph"
	"forage/graph/arcs"
)

// explorers are the experiments of [DE].
var explorers = []Experiment{
	{"de-crawler-table1", "The networks of DE-Crawler: size, degree, communities", deTable1},
	{"de-crawler-table2", "Regret of each explorer on each network, beside the paper's", deTable2},
	{"de-crawler-others", "Regret of each explorer on networks outside the paper's list, given and generated", deOthers},
	{"de-crawler-fig1", "Share of a network of collaborations observed against the budget", deFigure1},
	{"de-crawler-fig3-4", "Share of the nodes observed against the budget", deFigures},
	{"explore-sites", "Share of a site's pages found after 1, 3 and 10% of queries, best out of fold", exploreSites},
}

// published is what [DE, Tables 1 and 2] print of a network. Citeseer's mean degree is printed
// as 71.6 and must be 7.16.
type published struct {
	name                     string // of the file
	nodes, edges             int
	degree, size, modularity float64
	regret                   map[string]float64 // by policy
}

func regrets(de, rw, mod, opic, bfs float64) map[string]float64 {
	return map[string]float64{"de": de, "rw": rw, "mod": mod, "opic": opic, "bfs": bfs}
}

var paperNetworks = []published{
	{"ca-AstroPh", 17903, 196973, 22.00, 436.66, 0.63, regrets(.144, .159, .202, .194, .185)},
	{"ca-CondMat", 21363, 91287, 8.55, 374.79, 0.72, regrets(.292, .349, .440, .396, .406)},
	{"ca-HepPh", 11204, 117619, 21.00, 238.38, 0.65, regrets(.158, .246, .350, .205, .270)},
	{"ca-citeseer", 227320, 814135, 7.16, 988.34, 0.89, regrets(.359, .467, .452, .458, .557)},
	{"socfb-Bingham82", 10001, 362893, 72.57, 1250.13, 0.45, regrets(.023, .024, .130, .145, .026)},
	{"socfb-JohnsHopkins55", 5157, 186573, 72.36, 515.70, 0.45, regrets(.034, .041, .129, .148, .047)},
	{"socfb-WashU32", 7730, 367527, 95.09, 966.25, 0.47, regrets(.012, .013, .149, .163, .027)},
	{"socfb-Yale4", 8561, 405441, 94.72, 856.10, 0.43, regrets(.007, .020, .080, .107, .023)},
	{"soc-anybeat", 21250, 66892, 6.30, 259.15, 0.48, regrets(.082, .110, .079, .070, .442)},
	{"soc-slashdot", 70068, 358648, 10.24, 173.86, 0.36, regrets(.045, .129, .045, .046, .419)},
	{"soc-hamsterster", 2000, 16097, 16.10, 66.67, 0.54, regrets(.119, .165, .184, .218, .336)},
	{"web-google", 1299, 2774, 4.27, 34.18, 0.93, regrets(.450, .676, .471, .582, .612)},
	{"web-indochina-2004", 11358, 47607, 8.38, 153.49, 0.94, regrets(.522, .623, .583, .631, .718)},
	{"web-webbase-2001", 16062, 25594, 3.19, 232.78, 0.93, regrets(.730, .764, .730, .781, .764)},
	{"tech-RL-caida", 190914, 607611, 6.36, 856.11, 0.86, regrets(.359, .370, .372, .449, .419)},
	{"tech-pgp", 10680, 24316, 4.55, 106.80, 0.88, regrets(.383, .465, .416, .453, .536)},
	{"tech-routers-rf", 2113, 6633, 6.28, 88.04, 0.69, regrets(.219, .307, .304, .265, .397)},
	{"tech-WHOIS", 7476, 56944, 15.23, 276.89, 0.56, regrets(.130, .184, .274, .270, .469)},
}

// network is an undirected graph at hand.
type network struct {
	name  string
	paper *published // nil: not in the paper
	graph *graph.CSR // each edge in both directions
}

// networks reads all networks below the data folder, those of the paper in its order, then
// others by name, and returns the names of the paper's that are missing.
func networks(env *Env) (found []network, missing []string, err error) {
	files, err := env.Files(".tsv.gz")
	if err != nil {
		return nil, nil, err
	}
	paths := map[string]string{}
	for _, f := range files {
		paths[strings.TrimSuffix(filepath.Base(f), ".tsv.gz")] = f
	}
	load := func(name string, paper *published) error {
		g, err := arcs.Load(paths[name], arcs.Options{Format: arcs.List})
		if err == nil {
			found = append(found, network{name, paper, g.Undirected()})
		}
		delete(paths, name)
		return err
	}
	for i := range paperNetworks {
		p := &paperNetworks[i]
		if paths[p.name] == "" {
			missing = append(missing, p.name)
		} else if err := load(p.name, p); err != nil {
			return nil, nil, err
		}
	}
	others := make([]string, 0, len(paths))
	for name := range paths {
		others = append(others, name)
	}
	slices.Sort(others)
	for _, name := range others {
		if err := load(name, nil); err != nil {
			return nil, nil, err
		}
	}
	return found, missing, nil
}

// deTable1 is [DE, Table 1]. Communities are Louvain's, whose result depends on the order of
// the nodes, so that modularity agrees to about 0.02 only.
func deTable1(ctx context.Context, env *Env) (*Result, error) {
	nets, missing, err := networks(env)
	if err != nil {
		return nil, err
	}
	r := &Result{Columns: []string{"network", "nodes", "edges", "mean_degree", "modularity", "mean_community", "paper_nodes", "paper_edges", "paper_mean_degree", "paper_modularity", "paper_mean_community"}}
	rows := make([][]any, len(nets))
	err = each(ctx, len(nets), func(i int) error {
		g := nets[i].graph
		n, m := g.NumNodes(), g.NumArcs()/2
		q, k := louvain(g)
		rows[i] = []any{nets[i].name, n, int(m), 2 * float64(m) / float64(n), q, float64(n) / float64(k), nil, nil, nil, nil, nil}
		if p := nets[i].paper; p != nil {
			copy(rows[i][6:], []any{p.nodes, p.edges, p.degree, p.modularity, p.size})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		r.Add(row...)
	}
	noteMissing(r, missing)
	table1Notes(r, nets)
	return r, nil
}

// table1Notes says where the paper's counts are off.
func table1Notes(r *Result, nets []network) {
	more, n := 0, 0
	for _, net := range nets {
		if net.paper != nil {
			n++
			if net.paper.edges == int(net.graph.NumArcs()/2)+1 {
				more++
			}
		}
	}
	if more > 0 {
		r.Notef("The paper counts one edge more in %d of %d networks: its loader takes the line of sizes of a MatrixMarket file for an edge.", more, n)
	}
	r.Notef("Citeseer's mean degree is printed as 71.6: 2 · 814135 / 227320 = 7.16.")
	noteAnybeat(r, nets)
}

// noteAnybeat tells soc-anybeat from the network that it was made from.
func noteAnybeat(r *Result, nets []network) {
	has := func(name string) bool {
		return slices.ContainsFunc(nets, func(n network) bool { return n.name == name })
	}
	if has("soc-anybeat") {
		text := "soc-anybeat is the paper's graph, a bipartite double cover made by its parser"
		if has("soc-anybeat-clean") {
			text += "; soc-anybeat-clean is the network itself, and in no average over the paper's"
		}
		r.Notef("%s.", text)
	}
}

func noteMissing(r *Result, missing []string) {
	if len(missing) > 0 {
		r.Notef("Not at hand: %s.", strings.Join(missing, ", "))
	}
}
