/* Fabric8.java - the client of fabric8 as it comes: create, informer, watch, log, exec, patch, delete */
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.ExecWatch;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

public class Fabric8 {
    private static final Set<String> heard = ConcurrentHashMap.newKeySet();

    private static void check(boolean claim, String what) {
        if (!claim) {
            throw new AssertionError(what + "; heard: " + heard);
        }
    }

    private static void await(BooleanSupplier condition, String what) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (!condition.getAsBoolean()) {
            check(System.nanoTime() < end, "not within 60 s: " + what);
            Thread.sleep(20);
        }
    }

    private static Pod pod(String name) {
        return new PodBuilder().withNewMetadata().withName(name).addToLabels("app", "java").endMetadata()
            .withNewSpec().withRestartPolicy("Never").addNewContainer().withName("c").withImage("host")
            .withCommand("sh", "-c", "echo hello from $HOSTNAME; exec sleep 1000").endContainer().endSpec().build();
    }

    private static ResourceEventHandler<Pod> handler() {
        return new ResourceEventHandler<Pod>() {
            public void onAdd(Pod p) {
                heard.add("add " + p.getMetadata().getName());
            }

            public void onUpdate(Pod before, Pod p) {
                heard.add("update " + p.getMetadata().getName() + " " + p.getStatus().getPhase());
            }

            public void onDelete(Pod p, boolean isUnknown) {
                heard.add("delete " + p.getMetadata().getName());
            }
        };
    }

    private static Watcher<Pod> watcher() {
        return new Watcher<Pod>() {
            public void eventReceived(Action action, Pod p) {
                heard.add("watch " + action + " " + p.getMetadata().getName());
            }

            public void onClose(WatcherException why) {
                heard.add("watch closed " + why);
            }
        };
    }

    private static void execute(KubernetesClient k) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        try (ExecWatch e = k.pods().inNamespace("default").withName("java").writingOutput(out).writingError(err)
                .exec("sh", "-c", "echo out; echo err >&2; exit 3")) {
            check(e.exitCode().get(60, TimeUnit.SECONDS) == 3, "the exit code of exec");
        }
        check(out.toString(StandardCharsets.UTF_8).equals("out\n"), "stdout of exec: " + out);
        check(err.toString(StandardCharsets.UTF_8).equals("err\n"), "stderr of exec: " + err);
    }

    private static void livesWith(KubernetesClient k) throws Exception {
        var pods = k.pods().inNamespace("default");
        try (SharedIndexInformer<Pod> informer = pods.withLabel("app", "java").inform(handler());
             Watch watch = pods.watch(watcher())) {
            pods.resource(pod("java")).create();
            await(() -> heard.contains("update java Running"), "the informer hears of a running pod");
            check(heard.contains("add java") && informer.getStore().getByKey("default/java") != null, "the store");
            await(() -> pods.withName("java").getLog().startsWith("hello from "), "the log");
            execute(k);
            pods.withName("java").edit(p -> new PodBuilder(p).editMetadata().addToLabels("a", "b").endMetadata().build());
            check(pods.withLabel("a", "b").list().getItems().size() == 1, "the label");
            pods.withName("java").withGracePeriod(0).delete();
            await(() -> heard.contains("delete java"), "the informer hears of the end");
            await(() -> heard.contains("watch ADDED java") && heard.contains("watch DELETED java"), "the watch hears of it, too");
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (KubernetesClient k = new KubernetesClientBuilder().build()) {
            System.out.println("server " + k.getKubernetesVersion().getGitVersion());
            for (Node n : k.nodes().list().getItems()) {
                System.out.println("node " + n.getMetadata().getName());
            }
            livesWith(k);
            check(k.apiextensions().v1().customResourceDefinitions().list().getItems().isEmpty(), "definitions");
        }
        System.out.println("fine");
    }
}
