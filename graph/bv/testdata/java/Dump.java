import it.unimi.dsi.webgraph.*;

/** Prints nodes, arcs, and the checksum of a BV graph, read in order and at random. */
public class Dump {
	public static void main(String[] args) throws Exception {
		ImmutableGraph g = BVGraph.load(args[0]);
		long inOrder = 0, atRandom = 0;
		for (NodeIterator it = g.nodeIterator(); it.hasNext();) {
			it.nextInt();
			LazyIntIterator s = it.successors();
			for (int y; (y = s.nextInt()) != -1;) inOrder = inOrder * 0x100000001B3L + y;
		}
		for (int x = 0; x < g.numNodes(); x++) {
			LazyIntIterator s = g.successors(x);
			for (int y; (y = s.nextInt()) != -1;) atRandom = atRandom * 0x100000001B3L + y;
		}
		System.out.printf("%d %d %016x %016x%n", g.numNodes(), g.numArcs(), inOrder, atRandom);
	}
}
