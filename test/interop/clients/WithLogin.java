// Fetches each URL with HttpClient and with HttpURLConnection, a login ready for a proxy that asks for one.
// Run it with -Djdk.http.auth.tunneling.disabledSchemes= and the URL of the proxy, then the others.
import java.io.InputStream;
import java.net.Authenticator;
import java.net.HttpURLConnection;
import java.net.PasswordAuthentication;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.MessageDigest;
import java.util.HexFormat;

class WithLogin {
  public static void main(String[] args) throws Exception {
    String[] login = URI.create(args[0]).getUserInfo().split(":", 2);
    Authenticator authenticator = new Authenticator() {
      @Override
      protected PasswordAuthentication getPasswordAuthentication() {
        boolean isProxy = getRequestorType() == RequestorType.PROXY;
        return isProxy ? new PasswordAuthentication(login[0], login[1].toCharArray()) : null;
      }
    };
    Authenticator.setDefault(authenticator);
    HttpClient client = HttpClient.newBuilder().authenticator(authenticator).build();
    for (int i = 1; i < args.length; i++) {
      URI uri = URI.create(args[i]);
      HttpResponse<byte[]> reply = client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofByteArray());
      report(args[i], reply.statusCode(), reply.body());
      HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
      int status = connection.getResponseCode();
      try (InputStream body = connection.getInputStream()) {
        report(args[i], status, body.readAllBytes());
      }
    }
  }

  static void report(String url, int status, byte[] body) throws Exception {
    String sha256 = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
    System.out.printf("{\"url\":\"%s\",\"status\":%d,\"sha256\":\"%s\"}%n", url, status, sha256);
  }
}
