// Agent does nothing. The manifest of its jar names the class path of the job server, which then is not
// searched for what to send to the cluster.
public class Agent {
  public static void premain(String arguments) {}
}
